//! What can be set, and to what.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::guard::GuardSettings;

/// All that can be set, at its defaults unless somebody set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub host: IpAddr,
    pub port: u16,
    /// What is logged, as tracing's filter reads it.
    pub log: String,
    pub guard: GuardSettings,
    pub store: StoreSettings,
}

/// How the store is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// How many snapshots of each kind are kept.
    pub snapshots_keep: u32,
    pub snapshot_every: Duration,
    /// The room that is kept free for cleaning up a full disk.
    pub ballast_bytes: u64,
    /// How long raw payloads are kept.
    pub payloads_keep: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8000,
            log: "info".to_owned(),
            guard: GuardSettings::default(),
            store: StoreSettings {
                snapshots_keep: 7,
                snapshot_every: Duration::from_hours(24),
                ballast_bytes: 16 << 20,
                payloads_keep: Duration::from_hours(24 * 30),
            },
        }
    }
}

/// Something that can be set, and whether a project may set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// As it is written in a file: `guard.exits_max` is `exits_max` under `[guard]`.
    pub name: &'static str,
    pub scope: Scope,
}

/// Whose file may set a key. A project's file may only narrow what the user allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
}

/// Every key there is.
pub const KEYS: [Key; 13] = [
    user("host"),
    user("port"),
    user("log"),
    user("guard.exits_max"),
    user("guard.window_s"),
    user("guard.delay_first_ms"),
    user("guard.delay_max_s"),
    user("guard.heartbeat_s"),
    user("store.snapshots_keep"),
    user("store.snapshot_every_h"),
    user("store.ballast_mb"),
    user("store.payloads_keep_days"),
    Key { name: "name", scope: Scope::Project },
];

const fn user(name: &'static str) -> Key {
    Key { name, scope: Scope::User }
}

/// A value as a file or a variable gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Text(String),
}

/// Why a value cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error("`{key}` must be {expected}")]
    Wrong { key: String, expected: String },
    #[error("`{key}` cannot be set here")]
    Unknown { key: String },
}

impl Settings {
    /// Sets the user's `key` to `value`.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), BadValue> {
        let (guard, store) = (&mut self.guard, &mut self.store);
        match key {
            "host" => self.host = address(key, value)?,
            "port" => self.port = whole(key, value, 0, u16::MAX.into())? as u16,
            "log" => self.log = text(key, value)?,
            "guard.exits_max" => guard.exits_max = whole(key, value, 1, 1000)? as u32,
            "guard.window_s" => guard.window = seconds(whole(key, value, 1, 86_400)?),
            "guard.delay_first_ms" => {
                guard.delay_first = Duration::from_millis(whole(key, value, 1, 3_600_000)?);
            }
            "guard.delay_max_s" => guard.delay_max = seconds(whole(key, value, 1, 86_400)?),
            "guard.heartbeat_s" => guard.heartbeat = seconds(whole(key, value, 1, 3_600)?),
            "store.snapshots_keep" => store.snapshots_keep = whole(key, value, 1, 1000)? as u32,
            "store.snapshot_every_h" => {
                store.snapshot_every = seconds(whole(key, value, 1, 24 * 365)? * 3600);
            }
            "store.ballast_mb" => store.ballast_bytes = whole(key, value, 0, 10_240)? << 20,
            "store.payloads_keep_days" => {
                store.payloads_keep = seconds(whole(key, value, 1, 36_500)? * 86_400);
            }
            _ => return Err(BadValue::Unknown { key: key.to_owned() }),
        }
        Ok(())
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn whole(key: &str, value: &Value, min: u64, max: u64) -> Result<u64, BadValue> {
    let number = match value {
        Value::Number(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
    };
    let expected = || format!("a whole number from {min} to {max}");
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| BadValue::Wrong { key: key.to_owned(), expected: expected() })
}

fn text(key: &str, value: &Value) -> Result<String, BadValue> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Number(_) => {
            Err(BadValue::Wrong { key: key.to_owned(), expected: "text".to_owned() })
        }
    }
}

fn address(key: &str, value: &Value) -> Result<IpAddr, BadValue> {
    let expected = "an address of this machine's loopback, such as 127.0.0.1".to_owned();
    let wrong = BadValue::Wrong { key: key.to_owned(), expected };
    let text = text(key, value)?;
    let address =
        if text == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { text.parse().ok() };
    address.filter(IpAddr::is_loopback).ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_user_can_be_set() {
        for key in KEYS.iter().filter(|key| key.scope == Scope::User) {
            let value = match key.name {
                "host" => Value::Text("127.0.0.1".to_owned()),
                "log" => Value::Text("debug".to_owned()),
                _ => Value::Number(7),
            };
            assert_eq!(Settings::default().set(key.name, &value), Ok(()), "{}", key.name);
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused() {
        for (key, value) in [
            ("port", Value::Number(70_000)),
            ("port", Value::Number(-1)),
            ("port", Value::Text("http".to_owned())),
            ("guard.exits_max", Value::Number(0)),
            ("host", Value::Text("0.0.0.0".to_owned())),
            ("host", Value::Text("example.org".to_owned())),
            ("log", Value::Number(1)),
        ] {
            let refused = Settings::default().set(key, &value);
            assert!(matches!(refused, Err(BadValue::Wrong { .. })), "{key} = {value:?}");
        }
    }

    #[test]
    fn a_variable_may_give_a_number_as_text() {
        let mut settings = Settings::default();
        settings.set("port", &Value::Text("8123".to_owned())).unwrap();
        assert_eq!(settings.port, 8123);
    }
}
