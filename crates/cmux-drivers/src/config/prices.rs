//! The `[prices.MODEL]` of the user's file: what models cost them.

use cmux_core::price::{PRICES_MAX, Prices};
use toml::de::DeValue;

use super::ConfigError;
use crate::manifest::{RATES, price};
use crate::written::{File, Section};

impl File<'_> {
    /// Returns what the section `prices`, which is on `line`, says of each model.
    pub(super) fn prices(&self, section: &DeValue<'_>, line: usize) -> Result<Prices, ConfigError> {
        let bad = "`prices` must be sections such as [prices.\"my-model\"]";
        let DeValue::Table(table) = section else { return Err(self.refused(line, bad)) };
        if table.len() > PRICES_MAX {
            return Err(self.refused(line, format!("there are more than {PRICES_MAX} prices")));
        }
        let mut prices = Prices::default();
        for (model, said) in table {
            let line = self.line(model.span().start);
            let DeValue::Table(said) = said.get_ref() else { return Err(self.refused(line, bad)) };
            let section = Section::new(*self, "prices.MODEL", said, line, &RATES)?;
            prices.add(model.get_ref(), price(&section)?);
        }
        Ok(prices)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cmux_core::usage::{Money, Tokens};

    use super::super::{load, load_project};

    #[test]
    fn the_user_says_what_models_cost() {
        let settings = read(
            "[prices.'local/*']\ninput = 0\noutput = 0.0\n[prices.'gpt-9']\ninput = 1.25\noutput = 10\n\
             search = 10\n[prices.'gpt-9'.long]\nabove = 1000\ninput = 2.5\noutput = 15\n",
        )
        .unwrap();
        let tokens = |input, output| Tokens { input, output, ..Tokens::default() };
        let cost = |model: &str, tokens| settings.prices.find(model).and_then(|it| it.of(tokens));
        assert_eq!(cost("local/llama", tokens(5, 5)), Some(Money(0)));
        assert_eq!(cost("gpt-9", tokens(100, 10)), Some(Money(225_000)));
        assert_eq!(cost("gpt-9", tokens(1001, 0)), Some(Money(2_502_500)));
        let searched = Tokens { searches: 3, ..tokens(0, 0) };
        assert_eq!(cost("gpt-9", searched), Some(Money(30_000_000)));
        assert_eq!(cost("gpt-8", tokens(1, 1)), None);
    }

    #[test]
    fn what_is_wrong_with_a_price_is_told_with_its_line() {
        for (text, told) in [
            ("prices = 3", "config.toml:1: `prices` must be sections"),
            ("[prices]\nm = 3", "config.toml:2: `prices` must be sections"),
            ("[prices.m]\ninput = -1", "config.toml:2: `prices.MODEL.input` must be a number of"),
            ("[prices.m]\ninput = 1e400", "config.toml:2: `prices.MODEL.input` must be"),
            ("[prices.m]\noutput = 0.0001", "three places after the point"),
            ("[prices.m]\noutput = 'x'", "config.toml:2: `prices.MODEL.output` must be"),
            ("[prices.m]\ninptu = 1", "Did you mean `prices.MODEL.input`?"),
            ("[prices.m.long]\ninput = 1", "`prices.long.above` must be set"),
            ("[price.m]\ninput = 1", "Did you mean `prices`?"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn no_project_says_what_models_cost() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".cmux")).unwrap();
        fs::write(folder.path().join(".cmux/config.toml"), "[prices.m]\ninput = 1\n").unwrap();
        let error = load_project(folder.path()).unwrap_err().to_string();
        assert!(error.contains("`prices` can only be set in the user's own file"), "{error}");
    }

    fn read(text: &str) -> Result<cmux_core::settings::Settings, super::ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, text).unwrap();
        load(&file, |_| None)
    }
}
