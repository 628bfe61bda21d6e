//! What models cost, by their names. What nobody gave a price has none: it is never guessed.

use crate::usage::{Money, Tokens};

/// How many prices there may be.
pub const PRICES_MAX: usize = 500;

/// The highest price, in dollars: of a million tokens, or of a thousand searches.
const PRICE_MAX: u64 = 1_000_000;

/// What each token of a sort costs, in billionths of a dollar, where that is known. That is a thousandth of
/// what a million of them cost in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    /// For what is kept for long; as for the rest unless it is said.
    pub cache_write_long: Option<u64>,
    /// What each search costs.
    pub search: Option<u64>,
}

/// What a model costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub rates: Rates,
    /// What it costs if it had to read more than so many tokens.
    pub long: Option<(u64, Rates)>,
}

/// The prices of models. The first whose name fits holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<(String, Price)>);

impl Price {
    /// Returns what `tokens` cost, if each sort that there are some of has a price.
    pub fn of(&self, tokens: Tokens) -> Option<Money> {
        let Tokens { input, cache_read, cache_write, .. } = tokens;
        let read = input.saturating_add(cache_read).saturating_add(cache_write);
        let rates = match self.long {
            Some((above, rates)) if read > above => rates,
            Some(_) | None => self.rates,
        };
        rates.of(tokens)
    }
}

impl Rates {
    fn of(self, tokens: Tokens) -> Option<Money> {
        let long = tokens.cache_write_long.min(tokens.cache_write);
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write - long, self.cache_write),
            (long, self.cache_write_long.or(self.cache_write)),
            (tokens.searches, self.search),
        ];
        let costs = parts.into_iter().filter(|(count, _)| *count > 0);
        let mut costs = costs.map(|(count, rate)| Some(count.saturating_mul(rate?)));
        costs.try_fold(0_u64, |sum, cost| Some(sum.saturating_add(cost?))).map(Money)
    }
}

impl Prices {
    /// Adds the price of the models whose name fits `pattern`, in which a `*` is anything. Those that were
    /// added before go before it.
    pub fn add(&mut self, pattern: &str, price: Price) {
        self.0.push((pattern.to_owned(), price));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what `model` costs, if it has a price.
    pub fn find(&self, model: &str) -> Option<&Price> {
        self.0.iter().find(|(pattern, _)| fits(pattern, model)).map(|(_, price)| price)
    }
}

/// Returns whether `name` fits `pattern`, in which a `*` is anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns a price as it is written, a number of dollars with three places after the point at most, in
/// thousandths of a dollar.
pub fn mills(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let part = part.trim_end_matches('0');
    if whole.is_empty()
        || whole.len() > 7
        || part.len() > 3
        || !is_number(whole)
        || !is_number(part)
    {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    Some(whole * 1000 + part).filter(|&mills| mills <= PRICE_MAX * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sort_of_token_has_its_price() {
        // What Claude Code 2.1.325 says that six answers cost, in dollars: 0.0402762.
        let tokens = Tokens {
            input: 6021,
            output: 321,
            cache_read: 18021,
            cache_write: 1221,
            cache_write_long: 21,
            searches: 0,
        };
        assert_eq!(opus().of(tokens), Some(Money(40_276_200)));
        let searched = Tokens { searches: 2, ..tokens };
        assert_eq!(opus().of(searched), Some(Money(60_276_200)));
    }

    #[test]
    fn a_sort_without_a_price_is_not_guessed_at() {
        let rates = Rates { cache_write: None, cache_write_long: None, ..opus().rates };
        let price = Price { rates, long: None };
        let tokens = Tokens { input: 1, ..Tokens::default() };
        assert_eq!(price.of(tokens), Some(Money(4_000)));
        assert_eq!(price.of(Tokens { cache_write: 1, ..tokens }), None);
        assert_eq!(Price::default().of(Tokens::default()), Some(Money(0)));
    }

    #[test]
    fn a_long_prompt_has_prices_of_its_own() {
        let long = Rates { input: Some(500), ..Rates::default() };
        let rates = Rates { input: Some(100), cache_read: Some(10), ..Rates::default() };
        let price = Price { rates, long: Some((100, long)) };
        let tokens = |input| Tokens { input, ..Tokens::default() };
        assert_eq!(price.of(tokens(100)), Some(Money(10_000)));
        assert_eq!(price.of(tokens(101)), Some(Money(50_500)));
        assert_eq!(price.of(Tokens { cache_read: 1, ..tokens(100) }), None);
    }

    #[test]
    fn the_first_name_that_fits_holds() {
        let mut prices = Prices::default();
        let price =
            |input| Price { rates: Rates { input: Some(input), ..Rates::default() }, long: None };
        prices.add("claude-opus-5", price(1));
        prices.add("claude-opus-5-20*", price(2));
        prices.add("local/*", price(0));
        prices.add("*-mini", price(3));
        for (model, expected) in [
            ("claude-opus-5", Some(1)),
            ("claude-opus-5-20260101", Some(2)),
            ("claude-opus-5-5", None),
            ("local/mini", Some(0)),
            ("x-mini", Some(3)),
            ("", None),
        ] {
            let found = prices.find(model).and_then(|price| price.rates.input);
            assert_eq!(found, expected, "{model}");
        }
    }

    #[test]
    fn prices_are_read_to_the_thousandth_and_no_further() {
        for (text, expected) in [
            ("4", Some(4_000)),
            ("0.2", Some(200)),
            ("6.25", Some(6_250)),
            ("0.125", Some(125)),
            ("1.1250", Some(1_125)),
            ("10.0", Some(10_000)),
            ("0", Some(0)),
            ("0.0001", None),
            ("-1", None),
            ("1e3", None),
            ("", None),
            (".5", None),
            ("nan", None),
            ("99999999", None),
        ] {
            assert_eq!(mills(text), expected, "{text}");
        }
    }

    #[test]
    fn no_cost_runs_over() {
        let all = Tokens { input: u64::MAX, output: u64::MAX, ..Tokens::default() };
        assert_eq!(opus().of(all), Some(Money(u64::MAX)));
    }

    fn opus() -> Price {
        let rates = Rates {
            input: Some(4_000),
            output: Some(20_000),
            cache_read: Some(200),
            cache_write: Some(5_000),
            cache_write_long: Some(8_000),
            search: Some(10_000_000),
        };
        Price { rates, long: None }
    }
}
