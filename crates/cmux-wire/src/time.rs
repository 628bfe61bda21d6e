//! Times, as they are written: RFC 3339 in UTC, with milliseconds.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "string"))]
pub struct Time(jiff::Timestamp);

impl Time {
    /// Returns the moment so many milliseconds after 1970 began, or the nearest that can be written.
    pub fn from_millis(millis: i64) -> Time {
        let edge = if millis < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Time(jiff::Timestamp::from_millisecond(millis).unwrap_or(edge))
    }

    /// Returns the milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Time).map_err(D::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_looks_so_on_the_wire() {
        let time = Time::from_millis(1_763_240_400_007);
        let wire = r#""2025-11-15T21:00:00.007Z""#;
        assert_eq!(serde_json::to_string(&time).unwrap(), wire);
        assert_eq!(serde_json::from_str::<Time>(wire).unwrap(), time);
        assert_eq!(Time::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }
}
