//! What can be set, and to what.

mod hosts;
mod kinds;
mod project;
mod webhooks;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

pub use self::hosts::{Exposed, HOSTS_MAX, Lacks, may_listen};
pub use self::kinds::{KIND_KEYS, KINDS_MAX, KindSettings};
pub use self::project::{ProjectAgents, ProjectKind, ProjectSettings, narrowed, unheeded};
pub use self::webhooks::{SOURCE_KEYS, SOURCES_MAX, WebhookDraft, WebhookSource};
use crate::guard::GuardSettings;
use crate::kind::Kind;
use crate::price::Prices;
use crate::signature::BadSecret;

/// All that can be set, at its defaults unless somebody set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub host: IpAddr,
    pub port: u16,
    /// By which names the daemon may be called besides its own address, in lower case, each with or
    /// without a port.
    pub hosts: Vec<String>,
    /// What is logged, as tracing's filter reads it.
    pub log: String,
    pub guard: GuardSettings,
    pub store: StoreSettings,
    pub limits: Limits,
    pub tls: Option<TlsFiles>,
    /// Where outside events may come from, by name.
    pub webhooks: BTreeMap<String, WebhookSource>,
    /// How kinds of agents are started otherwise than their manifests have it.
    pub kinds: BTreeMap<Kind, KindSettings>,
    /// The kind of agents of which neither anybody nor their project says it.
    pub kind: Option<Kind>,
    pub mail: MailSettings,
    /// What models cost, where the user knows it better than manifests do.
    pub prices: Prices,
}

/// Who may write to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailSettings {
    /// Whether agents may write to those of other projects.
    pub across_projects: bool,
}

/// How much of the daemon clients may take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connections: u32,
    /// How many requests a client may make each second in the long run.
    pub requests_per_s: u32,
    /// How many it may make at once.
    pub burst: u32,
    pub websockets: u32,
}

/// How many files the daemon needs for itself, beside what clients take up.
const OWN_FILES: u64 = 192;

impl Limits {
    /// Returns the limits that can be kept if so many files may be open at once: each connection is one,
    /// at either door, and each WebSocket.
    #[must_use]
    pub fn within(self, files: u64) -> Limits {
        let left = u32::try_from(files.saturating_sub(OWN_FILES)).unwrap_or(u32::MAX);
        let connections = self.connections.min((left / 4).max(1));
        let websockets = self.websockets.min(left.saturating_sub(2 * connections).max(1));
        Limits { connections, websockets, ..self }
    }
}

/// Where the certificate is by which clients know the daemon, and its key: absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
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
            hosts: Vec::new(),
            log: "info".to_owned(),
            guard: GuardSettings::default(),
            store: StoreSettings {
                snapshots_keep: 7,
                snapshot_every: Duration::from_hours(24),
                ballast_bytes: 16 << 20,
                payloads_keep: Duration::from_hours(24 * 30),
            },
            limits: Limits { connections: 512, requests_per_s: 200, burst: 1000, websockets: 1000 },
            tls: None,
            webhooks: BTreeMap::new(),
            kinds: BTreeMap::new(),
            kind: None,
            mail: MailSettings::default(),
            prices: Prices::default(),
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
    /// Either: the project's counts for its own agents, once it is trusted.
    Both,
}

/// Every key there is, besides those of `[webhooks.NAME]` and `[kinds.NAME]`, which are `SOURCE_KEYS` and
/// `KIND_KEYS`.
pub const KEYS: [Key; 23] = [
    user("host"),
    user("port"),
    user("hosts"),
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
    user("limits.connections"),
    user("limits.requests_per_s"),
    user("limits.burst"),
    user("limits.websockets"),
    user("tls.cert"),
    user("tls.key"),
    user("mail.across_projects"),
    project("name"),
    Key { name: "agents.kind", scope: Scope::Both },
    project("agents.supervisor"),
];

const fn user(name: &'static str) -> Key {
    Key { name, scope: Scope::User }
}

const fn project(name: &'static str) -> Key {
    Key { name, scope: Scope::Project }
}

/// A value as a file or a variable gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Text(String),
    List(Vec<String>),
    Table(BTreeMap<String, String>),
    Flag(bool),
    /// Something that no key takes.
    Other,
}

/// Why a value cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error("`{key}` must be {expected}")]
    Wrong { key: String, expected: String },
    #[error("`{key}` cannot be set here")]
    Unknown { key: String },
    #[error("`{key}` must be set: {why}")]
    Missing { key: String, why: String },
    #[error("`{key}` and `{other}` are both set: keep one")]
    Both { key: String, other: String },
    #[error("`{key}`: {why}")]
    Secret { key: String, why: BadSecret },
}

impl Settings {
    /// Sets the user's `key` to `value`.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), BadValue> {
        let (guard, store, limits) = (&mut self.guard, &mut self.store, &mut self.limits);
        match key {
            "host" => self.host = address(key, value)?,
            "port" => self.port = whole(key, value, 0, u16::MAX.into())? as u16,
            "hosts" => self.hosts = names(key, value)?,
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
            "limits.connections" => limits.connections = whole(key, value, 16, 65_536)? as u32,
            "limits.requests_per_s" => {
                limits.requests_per_s = whole(key, value, 1, 1_000_000)? as u32;
            }
            "limits.burst" => limits.burst = whole(key, value, 1, 1_000_000)? as u32,
            "limits.websockets" => limits.websockets = whole(key, value, 1, 65_536)? as u32,
            "tls.cert" => self.tls.get_or_insert_default().cert = absolute(key, value)?,
            "tls.key" => self.tls.get_or_insert_default().key = absolute(key, value)?,
            "mail.across_projects" => self.mail.across_projects = flag(key, value)?,
            "agents.kind" => self.kind = Some(kind(key, value)?),
            _ => return Err(BadValue::Unknown { key: key.to_owned() }),
        }
        Ok(())
    }

    /// Returns what is still to be set for what is set to make sense.
    pub fn missing(&self) -> Option<BadValue> {
        let tls = self.tls.as_ref()?;
        let missing =
            |key: &str, why: &str| BadValue::Missing { key: key.to_owned(), why: why.to_owned() };
        if tls.cert.as_os_str().is_empty() {
            return Some(missing("tls.cert", "a key is of no use without its certificate"));
        }
        let has_key = !tls.key.as_os_str().is_empty();
        (!has_key).then(|| missing("tls.key", "a certificate is of no use without its key"))
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn wrong(key: &str, expected: impl Into<String>) -> BadValue {
    BadValue::Wrong { key: key.to_owned(), expected: expected.into() }
}

fn whole(key: &str, value: &Value, min: u64, max: u64) -> Result<u64, BadValue> {
    let number = match value {
        Value::Number(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
        Value::List(_) | Value::Table(_) | Value::Flag(_) | Value::Other => None,
    };
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| wrong(key, format!("a whole number from {min} to {max}")))
}

fn text(key: &str, value: &Value) -> Result<String, BadValue> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Number(_) | Value::List(_) | Value::Table(_) | Value::Flag(_) | Value::Other => {
            Err(wrong(key, "text"))
        }
    }
}

fn flag(key: &str, value: &Value) -> Result<bool, BadValue> {
    match value {
        Value::Flag(flag) => Ok(*flag),
        Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Table(_) | Value::Other => {
            Err(wrong(key, "true or false"))
        }
    }
}

fn kind(key: &str, value: &Value) -> Result<Kind, BadValue> {
    let kind = text(key, value)?.parse();
    kind.map_err(|_| wrong(key, "the name of a kind, such as \"claude\""))
}

fn address(key: &str, value: &Value) -> Result<IpAddr, BadValue> {
    let text = text(key, value)?;
    let address =
        if text == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { text.parse().ok() };
    address
        .map(|address: IpAddr| address.to_canonical())
        .ok_or_else(|| wrong(key, "an IP address of this machine's, such as 127.0.0.1"))
}

fn absolute(key: &str, value: &Value) -> Result<PathBuf, BadValue> {
    let path = PathBuf::from(text(key, value)?);
    if path.is_absolute() { Ok(path) } else { Err(wrong(key, "a path that begins with /")) }
}

fn names(key: &str, value: &Value) -> Result<Vec<String>, BadValue> {
    let list = match value {
        Value::List(list) if list.len() <= HOSTS_MAX => list,
        Value::List(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Table(_)
        | Value::Flag(_)
        | Value::Other => {
            let expected =
                format!("a list of at most {HOSTS_MAX} names, such as [\"cmux.example\"]");
            return Err(wrong(key, expected));
        }
    };
    let read = |name: &String| {
        hosts::read_host(name).ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            wrong(
                key,
                format!(
                    "names such as cmux.example or cmux.example:8000, without https://, / or *, \
                     and not `{name}`"
                ),
            )
        })
    };
    list.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_promised_than_files_may_be_open() {
        let set = Settings::default().limits;
        assert_eq!(set.within(1 << 20), set);
        for files in [0, 256, 1024, 2000, 4096] {
            let kept = set.within(files);
            let taken = u64::from(2 * kept.connections + kept.websockets) + OWN_FILES;
            assert!(taken <= files.max(OWN_FILES + 3), "{files}: {kept:?}");
            assert!(kept.connections > 0 && kept.websockets > 0, "{files}");
        }
        assert_eq!(set.within(1024).connections, 208);
    }

    #[test]
    fn every_key_of_the_user_can_be_set() {
        for key in KEYS.iter().filter(|key| key.scope != Scope::Project) {
            let value = match key.name {
                "agents.kind" => said("claude"),
                "host" => said("127.0.0.1"),
                "hosts" => Value::List(vec!["cmux.example".to_owned()]),
                "log" => said("debug"),
                "mail.across_projects" => Value::Flag(true),
                "tls.cert" | "tls.key" => said("/etc/cmux.pem"),
                _ => Value::Number(77),
            };
            let mut settings = Settings::default();
            assert_eq!(settings.set(key.name, &value), Ok(()), "{}", key.name);
            let is_changed = key.name == "host" || settings != Settings::default();
            assert!(is_changed, "{} changes nothing", key.name);
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_refused() {
        for (key, value) in [
            ("port", Value::Number(70_000)),
            ("port", Value::Number(-1)),
            ("port", said("http")),
            ("port", Value::Other),
            ("port", Value::List(vec!["80".to_owned()])),
            ("guard.exits_max", Value::Number(0)),
            ("host", said("example.org")),
            ("host", said("127.0.0.1:80")),
            ("hosts", said("example.org")),
            ("hosts", Value::List(vec!["https://example.org".to_owned()])),
            ("hosts", Value::List(vec!["a".to_owned(); HOSTS_MAX + 1])),
            ("limits.connections", Value::Number(15)),
            ("limits.connections", Value::Number(65_537)),
            ("limits.requests_per_s", Value::Number(0)),
            ("limits.burst", Value::Number(1_000_001)),
            ("limits.websockets", Value::Number(0)),
            ("tls.cert", said("cert.pem")),
            ("tls.key", Value::Number(1)),
            ("log", Value::Number(1)),
            ("agents.kind", said("a kind")),
            ("mail.across_projects", said("true")),
            ("mail.across_projects", Value::Number(1)),
        ] {
            let refused = Settings::default().set(key, &value);
            assert!(matches!(refused, Err(BadValue::Wrong { .. })), "{key} = {value:?}");
        }
    }

    #[test]
    fn any_address_of_this_machine_can_be_named() {
        for (text, expected) in [
            ("localhost", "127.0.0.1"),
            ("0.0.0.0", "0.0.0.0"),
            ("::", "::"),
            ("::ffff:127.0.0.1", "127.0.0.1"),
        ] {
            let mut settings = Settings::default();
            settings.set("host", &said(text)).unwrap();
            assert_eq!(settings.host.to_string(), expected);
        }
    }

    #[test]
    fn a_certificate_and_its_key_belong_together() {
        for (keys, missing) in [
            (&[][..], None),
            (&["tls.cert"], Some("tls.key")),
            (&["tls.key"], Some("tls.cert")),
            (&["tls.key", "tls.cert"], None),
        ] {
            let mut settings = Settings::default();
            keys.iter().for_each(|key| settings.set(key, &said("/x")).unwrap());
            let told = settings.missing().map(|it| it.to_string());
            let expected = missing.map(|key| format!("`{key}` must be set: "));
            match (&told, &expected) {
                (Some(told), Some(expected)) => assert!(told.starts_with(expected), "{told}"),
                (_, _) => assert_eq!(told, expected),
            }
        }
    }

    #[test]
    fn a_variable_may_give_a_number_as_text() {
        let mut settings = Settings::default();
        settings.set("port", &said("8123")).unwrap();
        assert_eq!(settings.port, 8123);
    }

    fn said(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
