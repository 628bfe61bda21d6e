//! What agents use, as clients see it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many tokens were used, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Usage {
    /// How many there were in all.
    pub tokens: u64,
    /// What the model read, beside what it had kept.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// What it had kept from before and read again.
    pub cache_read_tokens: u64,
    /// What it read and kept.
    pub cache_write_tokens: u64,
    /// What those tokens cost whose price is known, if any is.
    #[cfg_attr(feature = "typescript", ts(type = "number | null"))]
    pub cost_usd: Option<Dollars>,
    /// How many there are whose price is not known.
    pub unpriced_tokens: u64,
}

/// An amount of money: a number of dollars, kept to the billionth.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars {
    nanos: u64,
}

impl Dollars {
    pub fn from_nanos(nanos: u64) -> Dollars {
        Dollars { nanos }
    }

    pub fn nanos(self) -> u64 {
        self.nanos
    }
}

impl Usage {
    /// Returns what both come to.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        let cost = self.cost_usd.map_or(0, Dollars::nanos);
        let cost = other.cost_usd.map_or(cost, |it| it.nanos.saturating_add(cost));
        let is_known = self.cost_usd.or(other.cost_usd).is_some();
        Usage {
            tokens: self.tokens.saturating_add(other.tokens),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            cost_usd: is_known.then(|| Dollars::from_nanos(cost)),
            unpriced_tokens: self.unpriced_tokens.saturating_add(other.unpriced_tokens),
        }
    }
}

impl fmt::Debug for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:09}", self.nanos / 1_000_000_000, self.nanos % 1_000_000_000)
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.nanos as f64 / 1e9)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dollars, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let nanos = (dollars * 1e9).round();
        match nanos.is_finite() && nanos >= 0.0 {
            // What is more than it can hold is the most that it can.
            true => Ok(Dollars::from_nanos(nanos as u64)),
            false => Err(D::Error::custom("an amount of money is not negative")),
        }
    }
}

impl JsonSchema for Dollars {
    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_a_number_of_dollars_on_the_wire() {
        for (nanos, wire) in
            [(0, "0.0"), (40_276_200, "0.0402762"), (1, "1e-9"), (12_000_000_000, "12.0")]
        {
            let dollars = Dollars::from_nanos(nanos);
            assert_eq!(serde_json::to_string(&dollars).unwrap(), wire);
            assert_eq!(serde_json::from_str::<Dollars>(wire).unwrap(), dollars);
        }
        assert!(serde_json::from_str::<Dollars>("-1").is_err());
        assert!(serde_json::from_str::<Dollars>("\"1\"").is_err());
    }

    #[test]
    fn a_sum_has_a_cost_if_a_part_has() {
        let of = |cost: Option<u64>| Usage {
            tokens: 1,
            cost_usd: cost.map(Dollars::from_nanos),
            ..Usage::default()
        };
        for (a, b, expected) in [
            (None, None, None),
            (Some(1), None, Some(1)),
            (None, Some(2), Some(2)),
            (Some(1), Some(2), Some(3)),
        ] {
            let sum = of(a).plus(of(b));
            assert_eq!((sum.tokens, sum.cost_usd), (2, expected.map(Dollars::from_nanos)));
        }
    }
}
