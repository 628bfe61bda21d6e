//! Whole numbers, as they are sent: by JSON Schema `30.0` is one as good as `30`, and some languages write
//! it so.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::Number;

/// The largest number up to which every whole one has a `f64` of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number that fits into `T`.
pub(crate) fn read<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = Number::deserialize(deserializer)?;
    fit(&number)
}

/// Reads a whole number that fits into `T`, or null.
pub(crate) fn read_if_any<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = Option::<Number>::deserialize(deserializer)?;
    number.map(|number| fit(&number)).transpose()
}

fn fit<T: TryFrom<u64>, E: Error>(number: &Number) -> Result<T, E> {
    let whole = number.as_u64().or_else(|| whole(number.as_f64()?));
    let fitting = whole.and_then(|whole| T::try_from(whole).ok());
    let refused = || {
        let said = number.to_string();
        E::invalid_value(Unexpected::Other(&said), &"a whole number in its range")
    };
    fitting.ok_or_else(refused)
}

/// Returns `number` if it is whole and none other could have been meant.
fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
    // It is within the range, so nothing is cut off.
    is_whole.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        for (sent, expected) in [
            ("0", Some(0)),
            ("30", Some(30)),
            ("30.0", Some(30)),
            ("3e1", Some(30)),
            ("-0.0", Some(0)),
            ("4294967295", Some(u32::MAX)),
            ("4294967295.0", Some(u32::MAX)),
            ("4294967296", None),
            ("4294967296.0", None),
            ("1e300", None),
            ("30.5", None),
            ("-1", None),
            ("-1.0", None),
            ("\"30\"", None),
            ("true", None),
            ("null", None),
        ] {
            let read: Result<u32, _> = read(&mut serde_json::Deserializer::from_str(sent));
            assert_eq!(read.ok(), expected, "{sent}");
        }
    }

    #[test]
    fn nothing_may_be_sent_where_that_means_something() {
        let read = |sent: Value| read_if_any::<_, u64>(sent).ok();
        assert_eq!(read(Value::Null), Some(None));
        assert_eq!(read(Value::from(2.0)), Some(Some(2)));
        assert_eq!(read(Value::from("")), None);
    }
}
