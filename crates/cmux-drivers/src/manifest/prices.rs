//! What models cost: the `[[prices]]` of a manifest, and what they have in common with those of the user.

use cmux_core::price::{PRICES_MAX, Price, Prices, Rates};

use crate::config::ConfigError;
use crate::written::Section;

/// What can be said of a price: in dollars, of a million tokens or of a thousand searches.
pub(crate) const RATES: [&str; 7] =
    ["input", "output", "cache_read", "cache_write", "cache_write_long", "search", "long"];
const PRICE: [&str; 8] = [
    "models",
    "input",
    "output",
    "cache_read",
    "cache_write",
    "cache_write_long",
    "search",
    "long",
];
const LONG: [&str; 7] =
    ["above", "input", "output", "cache_read", "cache_write", "cache_write_long", "search"];

/// All keys, for a test that sees them explained.
#[cfg(test)]
pub(super) const EXPLAINED: [&[&str]; 2] = [&PRICE, &LONG];

/// From how many tokens on a prompt may be a long one.
const ABOVE_MAX: u64 = 1_000_000_000;

/// How many searches have the price that is written.
const SEARCHES: u64 = 1000;

/// Returns the prices that a manifest knows.
pub(super) fn read(root: &Section<'_>) -> Result<Prices, ConfigError> {
    let mut prices = Prices::default();
    for section in root.sections("prices", &PRICE)? {
        let models = section.texts("models")?;
        if models.is_empty() {
            return Err(section.missing("models", "the names of the models that cost so much"));
        }
        let price = price(&section)?;
        models.iter().for_each(|model| prices.add(model, price));
        if prices.len() > PRICES_MAX {
            return Err(root.wrong("prices", format!("are more than {PRICES_MAX}")));
        }
    }
    Ok(prices)
}

/// Returns the price that a section says.
pub(crate) fn price(section: &Section<'_>) -> Result<Price, ConfigError> {
    let long = section.section("long", "prices.long", &LONG)?;
    let long = long.map(|long| {
        let above = long.number("above", ABOVE_MAX)?;
        let above = above.ok_or_else(|| long.missing("above", "how many tokens are many"))?;
        Ok((above, rates(&long)?))
    });
    Ok(Price { rates: rates(section)?, long: long.transpose()? })
}

fn rates(section: &Section<'_>) -> Result<Rates, ConfigError> {
    // A thousandth of a dollar for a million tokens is a billionth for each.
    let search = section.dollars("search")?.map(|mills| mills * 1_000_000 / SEARCHES);
    Ok(Rates {
        input: section.dollars("input")?,
        output: section.dollars("output")?,
        cache_read: section.dollars("cache_read")?,
        cache_write: section.dollars("cache_write")?,
        cache_write_long: section.dollars("cache_write_long")?,
        search,
    })
}
