//! Signatures: whether an outside event comes from who holds the source's secret.
//!
//! Two schemes are known: GitHub's, which signs the body alone, and Standard Webhooks 1.0, which signs
//! an id and a time with it. Signatures are compared in a time that does not depend on where they
//! differ.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::time::Timestamp;

/// How far the time of a Standard Webhook may be from now, either way.
pub const WINDOW: Duration = Duration::from_mins(5);

/// How many signatures of one event are looked at.
pub const SIGNATURES_MAX: usize = 16;

/// The shortest secret that is taken for GitHub, in bytes.
pub const GITHUB_SECRET_MIN: usize = 16;

/// How long a Standard Webhooks secret is, in bytes.
const STANDARD_SECRET: std::ops::RangeInclusive<usize> = 24..=64;

const GITHUB_SIGNATURE: &str = "x-hub-signature-256";
const GITHUB_DELIVERY: &str = "x-github-delivery";
const GITHUB_EVENT: &str = "x-github-event";
const STANDARD_ID: &str = "webhook-id";
const STANDARD_TIMESTAMP: &str = "webhook-timestamp";
const STANDARD_SIGNATURE: &str = "webhook-signature";

/// How a source signs what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// GitHub's `X-Hub-Signature-256`. Neither its delivery's id nor a time is signed.
    GitHub,
    /// Standard Webhooks 1.0, <https://www.standardwebhooks.com>.
    Standard,
}

impl Scheme {
    pub const ALL: [Scheme; 2] = [Scheme::GitHub, Scheme::Standard];

    /// Returns the scheme's name, as a configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::GitHub => "github",
            Scheme::Standard => "standard",
        }
    }

    /// Returns whether the signature covers the delivery's id.
    pub fn signs_the_id(self) -> bool {
        match self {
            Scheme::GitHub => false,
            Scheme::Standard => true,
        }
    }
}

/// What only the source and cmux know. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Why a text cannot be a source's secret. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    #[error(
        "the secret must have at least {GITHUB_SECRET_MIN} bytes: `openssl rand -hex 32` makes one"
    )]
    TooShort,
    #[error(
        "the secret must be `whsec_` and then base64 of {} to {} bytes, as Standard Webhooks has it",
        STANDARD_SECRET.start(),
        STANDARD_SECRET.end()
    )]
    NotStandard,
}

impl Secret {
    /// Reads a secret as it is written for `scheme`.
    pub fn read(scheme: Scheme, text: &str) -> Result<Secret, BadSecret> {
        match scheme {
            Scheme::GitHub if text.len() < GITHUB_SECRET_MIN => Err(BadSecret::TooShort),
            Scheme::GitHub => Ok(Secret(text.as_bytes().to_vec())),
            Scheme::Standard => text
                .strip_prefix("whsec_")
                .and_then(|encoded| STANDARD.decode(encoded).ok())
                .filter(|bytes| STANDARD_SECRET.contains(&bytes.len()))
                .map(Secret)
                .ok_or(BadSecret::NotStandard),
        }
    }

    /// Returns the signature of `parts`, one after another, to be compared.
    fn sign(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

/// An event that is its source's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The source's name for this delivery: the same event sent again has the same.
    pub delivery: String,
    /// What kind of event it is, where the scheme says so.
    pub event: Option<String>,
}

/// Why an event is not taken for its source's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    #[error("the header {0} is missing")]
    Missing(&'static str),
    #[error("the header {0} is not as the scheme has it")]
    Malformed(&'static str),
    #[error(
        "the signature does not fit: the secret is another, or the body was changed on its way"
    )]
    Wrong,
    /// It was signed longer ago than the window, `by` so much.
    #[error("it was signed too long ago, by {} s: it is sent again, or a clock is wrong", by.as_secs())]
    TooOld { by: Duration },
    /// It is from further ahead than the window, `by` so much.
    #[error("it is from the future, by {} s: a clock is wrong", by.as_secs())]
    TooNew { by: Duration },
}

/// Checks that `body` was sent by who holds `secret`, where `header` looks up a header by its name in
/// lower case.
///
/// The window in time is looked at last, so that only what was properly signed is called too old.
pub fn check<'a>(
    scheme: Scheme,
    secret: &Secret,
    header: impl Fn(&'static str) -> Option<&'a str>,
    body: &[u8],
    now: Timestamp,
) -> Result<Checked, BadSignature> {
    let needed = |name| header(name).ok_or(BadSignature::Missing(name));
    match scheme {
        Scheme::GitHub => {
            let signature = needed(GITHUB_SIGNATURE)?;
            let delivery = needed(GITHUB_DELIVERY)?;
            check_github(secret, signature, delivery, header(GITHUB_EVENT), body)
        }
        Scheme::Standard => {
            let id = needed(STANDARD_ID)?;
            let timestamp = needed(STANDARD_TIMESTAMP)?;
            check_standard(secret, id, timestamp, needed(STANDARD_SIGNATURE)?, body, now)
        }
    }
}

fn check_github(
    secret: &Secret,
    signature: &str,
    delivery: &str,
    event: Option<&str>,
    body: &[u8],
) -> Result<Checked, BadSignature> {
    let digest = signature.strip_prefix("sha256=").and_then(unhex);
    let digest = digest.ok_or(BadSignature::Malformed(GITHUB_SIGNATURE))?;
    let is_word = |text: &str, also: char| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == also;
        (1..=64).contains(&text.len()) && text.chars().all(allowed)
    };
    if !is_word(delivery, '-') {
        return Err(BadSignature::Malformed(GITHUB_DELIVERY));
    }
    if event.is_some_and(|event| !is_word(event, '_')) {
        return Err(BadSignature::Malformed(GITHUB_EVENT));
    }
    secret.sign(&[body]).verify_slice(&digest).map_err(|_| BadSignature::Wrong)?;
    Ok(Checked { delivery: delivery.to_owned(), event: event.map(ToOwned::to_owned) })
}

fn check_standard(
    secret: &Secret,
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<Checked, BadSignature> {
    // A dot in the id would let it be read as another id with another time.
    let is_plain = |id: &str| id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.');
    if !(1..=256).contains(&id.len()) || !is_plain(id) {
        return Err(BadSignature::Malformed(STANDARD_ID));
    }
    let signed_at = moment(timestamp).ok_or(BadSignature::Malformed(STANDARD_TIMESTAMP))?;
    let known = read_signatures(signatures).ok_or(BadSignature::Malformed(STANDARD_SIGNATURE))?;
    let mac = secret.sign(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
    if !known.iter().any(|signature| mac.clone().verify_slice(signature).is_ok()) {
        return Err(BadSignature::Wrong);
    }
    let (age, lead) = (now.since(signed_at), signed_at.since(now));
    if age > WINDOW {
        return Err(BadSignature::TooOld { by: age - WINDOW });
    }
    if lead > WINDOW {
        return Err(BadSignature::TooNew { by: lead - WINDOW });
    }
    Ok(Checked { delivery: id.to_owned(), event: None })
}

/// Returns the signatures of version 1 in `text`, or nothing if there is none or there are too many.
///
/// While a source changes its secret it sends one for each; those of other versions are skipped.
fn read_signatures(text: &str) -> Option<Vec<Vec<u8>>> {
    if text.split(' ').count() > SIGNATURES_MAX {
        return None;
    }
    let of_version_1 = text.split(' ').filter_map(|it| it.strip_prefix("v1,"));
    let known: Vec<_> = of_version_1.filter_map(|it| STANDARD.decode(it).ok()).collect();
    (!known.is_empty()).then_some(known)
}

/// Returns the moment that a number of seconds since 1970 means.
fn moment(seconds: &str) -> Option<Timestamp> {
    let is_number = seconds.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: i64 = seconds.parse().ok().filter(|_| is_number)?;
    seconds.checked_mul(1000).map(Timestamp)
}

/// Returns the 32 bytes that `text` is in hexadecimal.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().ok().filter(|_| digits.len() == 64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GITHUB_TEXT: &str = "It's a Secret to Everybody";
    const GITHUB_BODY: &[u8] = b"Hello, World!";
    const GITHUB_HEADERS: [(&str, &str); 3] = [
        (
            GITHUB_SIGNATURE,
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        ),
        (GITHUB_DELIVERY, "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        (GITHUB_EVENT, "pull_request"),
    ];

    const STANDARD_TEXT: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const STANDARD_BODY: &[u8] = br#"{"test": 2432232314}"#;
    const STANDARD_HEADERS: [(&str, &str); 3] = [
        (STANDARD_ID, "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        (STANDARD_TIMESTAMP, "1614265330"),
        (STANDARD_SIGNATURE, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ];
    const STANDARD_AT: Timestamp = Timestamp(1_614_265_330_000);

    #[test]
    fn the_published_examples_are_taken() {
        let delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958".to_owned();
        let event = Some("pull_request".to_owned());
        assert_eq!(github(&GITHUB_HEADERS), Ok(Checked { delivery, event }));
        let delivery = "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned();
        let taken = Ok(Checked { delivery, event: None });
        assert_eq!(standard(&STANDARD_HEADERS, STANDARD_AT), taken);
    }

    #[test]
    fn a_header_that_is_missing_is_named() {
        for name in [GITHUB_SIGNATURE, GITHUB_DELIVERY] {
            assert_eq!(github(&without(name)), Err(BadSignature::Missing(name)));
        }
        assert_eq!(github(&without(GITHUB_EVENT)).map(|it| it.event), Ok(None));
        for name in [STANDARD_ID, STANDARD_TIMESTAMP, STANDARD_SIGNATURE] {
            let refused = standard(&without(name), STANDARD_AT);
            assert_eq!(refused, Err(BadSignature::Missing(name)));
        }
    }

    #[test]
    fn a_header_of_githubs_that_makes_no_sense_is_named() {
        let right = GITHUB_HEADERS[0].1;
        let (sha1, long) = (right.replace("256", "1"), format!("{right}0"));
        for (name, values) in [
            (GITHUB_SIGNATURE, vec!["", "sha256=", &right[..70], &sha1, &long, "sha256=é"]),
            (GITHUB_DELIVERY, vec!["", "a b", "../x", "é", "a\n"]),
            (GITHUB_EVENT, vec!["", "a b", "<x>"]),
        ] {
            for value in values {
                let refused = github(&with(GITHUB_HEADERS, name, value));
                assert_eq!(refused, Err(BadSignature::Malformed(name)), "{name}: {value}");
            }
        }
        let long = "a".repeat(65);
        let refused = github(&with(GITHUB_HEADERS, GITHUB_DELIVERY, &long));
        assert_eq!(refused, Err(BadSignature::Malformed(GITHUB_DELIVERY)));
        let zeros = format!("sha256={}", "0".repeat(64));
        let refused = github(&with(GITHUB_HEADERS, GITHUB_SIGNATURE, &zeros));
        assert_eq!(refused, Err(BadSignature::Wrong));
    }

    #[test]
    fn a_header_of_standard_webhooks_that_makes_no_sense_is_named() {
        let right = STANDARD_HEADERS[2].1;
        let (v2, many) = (right.replace("v1", "v1a"), vec![right; SIGNATURES_MAX + 1].join(" "));
        let long = "a".repeat(257);
        for (name, values) in [
            (STANDARD_ID, vec!["", "msg.1", "msg 1", "é", &long]),
            (STANDARD_TIMESTAMP, vec!["", "x", "-1", "+1614265330", "1e9", "99999999999999999"]),
            (STANDARD_SIGNATURE, vec!["", "v1", "v1,%%", &right[3..], &v2, &many]),
        ] {
            for value in values {
                let refused = standard(&with(STANDARD_HEADERS, name, value), STANDARD_AT);
                assert_eq!(refused, Err(BadSignature::Malformed(name)), "{name}: {value}");
            }
        }
    }

    #[test]
    fn one_right_signature_among_several_is_enough() {
        let right = STANDARD_HEADERS[2].1;
        let wrong = format!("v1,{}", STANDARD.encode([7; 32]));
        let short = "v1,g0hM9SsE";
        for (signatures, is_right) in [
            (format!("{wrong} {right}"), true),
            (format!("v2,x {wrong} v1,%% {right} nonsense"), true),
            (format!("{wrong} {wrong}"), false),
            (short.to_owned(), false),
            ("v1,".to_owned(), false),
            (vec![wrong.as_str(); SIGNATURES_MAX].join(" "), false),
        ] {
            let headers = with(STANDARD_HEADERS, STANDARD_SIGNATURE, &signatures);
            let checked = standard(&headers, STANDARD_AT);
            assert_eq!(checked.is_ok(), is_right, "{signatures}");
            assert!(is_right || checked == Err(BadSignature::Wrong), "{signatures}: {checked:?}");
        }
    }

    #[test]
    fn only_what_was_signed_lately_is_taken() {
        let second = Duration::from_secs(1);
        for (off_ms, expected) in [
            (0, Ok(())),
            (300_000, Ok(())),
            (-300_000, Ok(())),
            (301_000, Err(BadSignature::TooOld { by: second })),
            (-301_000, Err(BadSignature::TooNew { by: second })),
            (86_700_000, Err(BadSignature::TooOld { by: Duration::from_hours(24) })),
        ] {
            let checked = standard(&STANDARD_HEADERS, Timestamp(STANDARD_AT.0 + off_ms));
            assert_eq!(checked.map(|_| ()), expected, "{off_ms}");
        }
        let forged = with(STANDARD_HEADERS, STANDARD_TIMESTAMP, "1614265331");
        assert_eq!(standard(&forged, Timestamp(0)), Err(BadSignature::Wrong));
    }

    #[test]
    fn a_secret_that_is_too_easy_or_no_secret_is_refused() {
        let standard = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for (scheme, text, expected) in [
            (Scheme::GitHub, "0123456789abcdef".to_owned(), Ok(())),
            (Scheme::GitHub, "0123456789abcde".to_owned(), Err(BadSecret::TooShort)),
            (Scheme::Standard, standard(24), Ok(())),
            (Scheme::Standard, standard(64), Ok(())),
            (Scheme::Standard, standard(23), Err(BadSecret::NotStandard)),
            (Scheme::Standard, standard(65), Err(BadSecret::NotStandard)),
            (Scheme::Standard, "whsec_%".to_owned(), Err(BadSecret::NotStandard)),
            (Scheme::Standard, STANDARD_TEXT[6..].to_owned(), Err(BadSecret::NotStandard)),
        ] {
            assert_eq!(Secret::read(scheme, &text).map(|_| ()), expected, "{text}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::read(Scheme::GitHub, GITHUB_TEXT).unwrap();
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "… Some(\n    …,\n)");
    }

    proptest! {
        #[test]
        fn nothing_can_be_changed_without_notice(
            body in proptest::collection::vec(any::<u8>(), 1..200),
            key in "[ -~]{16,80}",
            at in 0..10_000_i64,
            place in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let secret = Secret::read(Scheme::GitHub, &key).unwrap();
            let (id, time) = ("msg_1", at.to_string());
            let digest = secret.sign(&[&body]).finalize().into_bytes();
            let signed = [id.as_bytes(), b".", time.as_bytes(), b".", &body];
            let signature = secret.sign(&signed).finalize().into_bytes().to_vec();
            let now = Timestamp(at * 1000);
            let github = |digest: &[u8], body: &[u8]| {
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                check_github(&secret, &format!("sha256={hex}"), "1", None, body).map(|_| ())
            };
            let standard = |id: &str, time: &str, signature: &[u8], body: &[u8]| {
                let signature = format!("v1,{}", STANDARD.encode(signature));
                check_standard(&secret, id, time, &signature, body, now).map(|_| ())
            };
            prop_assert_eq!(github(&digest, &body), Ok(()));
            prop_assert_eq!(standard(id, &time, &signature, &body), Ok(()));
            let wrong = Err(BadSignature::Wrong);
            let other_body = flipped(&body, place, bit);
            prop_assert_eq!(github(&digest, &other_body), wrong.clone());
            prop_assert_eq!(github(&flipped(&digest, place, bit), &body), wrong.clone());
            prop_assert_eq!(standard(id, &time, &signature, &other_body), wrong.clone());
            let other = flipped(&signature, place, bit);
            prop_assert_eq!(standard(id, &time, &other, &body), wrong.clone());
            let other = String::from_utf8_lossy(&flipped(id.as_bytes(), place, bit)).into_owned();
            prop_assert!(standard(&other, &time, &signature, &body).is_err());
            prop_assert_eq!(standard(id, &(at + 1).to_string(), &signature, &body), wrong);
        }
    }

    /// Returns `bytes` with one bit other than it was.
    fn flipped(bytes: &[u8], place: prop::sample::Index, bit: u32) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        bytes
    }

    type Headers<'a> = Vec<(&'static str, &'a str)>;

    /// Returns the headers of both examples without `name`.
    fn without(name: &str) -> Headers<'static> {
        let all = GITHUB_HEADERS.into_iter().chain(STANDARD_HEADERS);
        all.filter(|(known, _)| *known != name).collect()
    }

    /// Returns `headers` with `name` saying something else.
    fn with<'a>(headers: [(&'static str, &'a str); 3], name: &str, value: &'a str) -> Headers<'a> {
        let change = |(known, was)| (known, if known == name { value } else { was });
        headers.into_iter().map(change).collect()
    }

    fn github(headers: &[(&'static str, &str)]) -> Result<Checked, BadSignature> {
        let secret = Secret::read(Scheme::GitHub, GITHUB_TEXT).unwrap();
        check(Scheme::GitHub, &secret, find(headers), GITHUB_BODY, Timestamp(0))
    }

    fn standard(headers: &[(&'static str, &str)], now: Timestamp) -> Result<Checked, BadSignature> {
        let secret = Secret::read(Scheme::Standard, STANDARD_TEXT).unwrap();
        check(Scheme::Standard, &secret, find(headers), STANDARD_BODY, now)
    }

    fn find<'a>(headers: &[(&'static str, &'a str)]) -> impl Fn(&'static str) -> Option<&'a str> {
        move |name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}
