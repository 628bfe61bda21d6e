//! Secrets in what others say: found by what they look like and by what they are called, and taken out.
//!
//! It is done to text as it is, whether or not that is JSON, and JSON stays JSON.

/// What stands where a secret was.
const MARK: &str = "[redacted]";

/// What a key is called that holds a secret, in small letters.
const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "private_key",
    "authorization",
    "credential",
    "cookie",
    "auth_key",
];

/// How well-known secrets begin, and how long they are at least.
const BEGINNINGS: [(&str, usize); 16] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xox", 12),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 20),
    ("eyJ", 40),
    ("cmuxrun_", 12),
    ("cmux_", 32),
];

/// What comes before a secret in a header.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

const PEM: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const DASHES: &str = "-----";

/// Returns `text` without the secrets in it.
pub fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let (mut at, mut before) = (0, '\0');
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let found = secret(rest, before);
        match found {
            Some(Found { shown, hidden }) => {
                clean.push_str(&rest[..shown]);
                clean.push_str(MARK);
                at += shown + hidden;
                before = ']';
            }
            None => {
                let length = step(rest, next);
                clean.push_str(&rest[..length]);
                before = if next == '\\' { next } else { last(&rest[..length], next) };
                at += length;
            }
        }
    }
    clean
}

/// Returns the beginning of `text`, of `max` bytes at most, and says so if there was more.
pub fn cut(mut text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let told = format!("… [cut: it had {} bytes]", text.len());
    let mut end = max.saturating_sub(told.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text + &told
}

/// Returns how far to go to where the next secret can begin: behind a word, which is looked at once from its
/// beginning, and behind the break of a line as it is written in JSON.
fn step(rest: &str, next: char) -> usize {
    if is_word(next) {
        let word = word(rest);
        return word.find(DASHES).filter(|&at| at > 0).unwrap_or(word.len());
    }
    let is_break = next == '\\' && rest[1..].starts_with(['n', 't', 'r', 'b', 'f']);
    if is_break { 2 } else { next.len_utf8() }
}

fn last(text: &str, otherwise: char) -> char {
    text.chars().next_back().unwrap_or(otherwise)
}

/// A secret: how much before it may be seen, and how long it is.
struct Found {
    shown: usize,
    hidden: usize,
}

/// Returns the secret that `rest` begins with, or with whose name it begins.
fn secret(rest: &str, before: char) -> Option<Found> {
    if rest.starts_with(PEM) {
        return Some(Found { shown: 0, hidden: pem(rest) });
    }
    if is_word(before) || !rest.starts_with(is_word) {
        return None;
    }
    let known = BEGINNINGS.iter().find_map(|(beginning, least)| {
        let length = rest.starts_with(beginning).then(|| token(rest))?;
        (length >= beginning.len() + least).then_some(Found { shown: 0, hidden: length })
    });
    known.or_else(|| shown_in_a_header(rest)).or_else(|| named(rest))
}

/// Returns how long the block is that `rest` begins with.
fn pem(rest: &str) -> usize {
    let Some(end) = rest.find(PEM_END) else { return rest.len() };
    let last = end + PEM_END.len();
    rest[last..].find(DASHES).map_or(rest.len(), |dashes| last + dashes + DASHES.len())
}

fn shown_in_a_header(rest: &str) -> Option<Found> {
    let shown = SCHEMES.iter().find_map(|scheme| {
        let begins = rest.get(..scheme.len())?.eq_ignore_ascii_case(scheme);
        begins.then_some(scheme.len())
    })?;
    let hidden = token(&rest[shown..]);
    (hidden >= 8).then_some(Found { shown, hidden })
}

/// Returns what the name that `rest` begins with is given, if that is a secret.
fn named(rest: &str) -> Option<Found> {
    let name = word(rest);
    let small = name.to_ascii_lowercase();
    if !NAMES.iter().any(|it| small.contains(it)) {
        return None;
    }
    let after = &rest[name.len()..];
    let quotes = after.len() - after.trim_start_matches(['\\', '"', '\'']).len();
    let gap = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let sign = quotes + gap(&after[quotes..]);
    let is_shell = after.starts_with('=');
    if !is_shell && !after[sign..].starts_with([':', '=']) {
        return None;
    }
    let value = sign + 1 + if is_shell { 0 } else { gap(&after[sign + 1..]) };
    let given = &after[value..];
    let slashes = given.len() - given.trim_start_matches('\\').len();
    let shown = name.len() + value;
    let quoted = &given[slashes..];
    let (opened, hidden) = match quoted.chars().next() {
        Some('"') => (slashes + 1, string(&quoted[1..], slashes)),
        Some('\'') => (slashes + 1, quoted[1..].find('\'').unwrap_or(quoted.len() - 1)),
        Some(_) if slashes > 0 => return None,
        Some(_) if is_shell => (0, until(given, |c| c.is_whitespace() || "\"'\\;&|)".contains(c))),
        Some('{' | '[') | None => return None,
        Some(_) => (0, plain(given)),
    };
    (hidden > 0).then_some(Found { shown: shown + opened, hidden })
}

/// Returns how long a value without quotes is. What cannot be a secret is none.
fn plain(given: &str) -> usize {
    let length = until(given, |c| "\"'\\\n\r,}]".contains(c));
    let said = given[..length].trim();
    let is_harmless = matches!(said, "true" | "false" | "null")
        || said.chars().all(|c| c.is_ascii_digit() || ".-+eE".contains(c));
    if is_harmless { 0 } else { length }
}

/// Returns how long a string is whose opening quote had so many backslashes before it: within a text that
/// is itself in quotes, its end has as many.
fn string(text: &str, slashes: usize) -> usize {
    let mut before = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\\' => before += 1,
            b'"' if before < slashes || (before - slashes).is_multiple_of(2 * (slashes + 1)) => {
                return at - before.min(slashes);
            }
            _ => before = 0,
        }
    }
    text.len()
}

fn until(text: &str, ends: impl Fn(char) -> bool) -> usize {
    text.find(ends).unwrap_or(text.len())
}

fn word(text: &str) -> &str {
    &text[..until(text, |c| !is_word(c))]
}

fn token(text: &str) -> usize {
    until(text, |c| !(c.is_ascii_alphanumeric() || "-_.~+/=".contains(c)))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_by_their_looks_and_by_their_names() {
        for (text, expected) in [
            (r#"{"api_key":"abc","n":1}"#, r#"{"api_key":"[redacted]","n":1}"#),
            (r#"{"DB_PASSWORD" : "a\"b\\","x":"y"}"#, r#"{"DB_PASSWORD" : "[redacted]","x":"y"}"#),
            (
                r#"{"command":"curl -d '{\"secret\":\"s3\"}' x"}"#,
                r#"{"command":"curl -d '{\"secret\":\"[redacted]\"}' x"}"#,
            ),
            ("export OPENAI_API_KEY=abc; ls", "export OPENAI_API_KEY=[redacted]; ls"),
            ("TOKEN='a b' run", "TOKEN='[redacted]' run"),
            ("Authorization: Bearer abc", "Authorization: [redacted]"),
            (r#"-H \"Authorization: Basic abc\" x"#, r#"-H \"Authorization: [redacted]\" x"#),
            ("with Bearer abcdefgh12 it", "with Bearer [redacted] it"),
            ("use sk-aaaabbbbccccddddeeee now", "use [redacted] now"),
            ("ghp_abcdefghijklmnop1234, AKIAABCDEFGHIJKLMNOP.", "[redacted], [redacted]"),
            (
                r"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nmore",
                r"[redacted]\nmore",
            ),
            (r"a\n-----BEGIN X-----\nabc\n-----END X-----", r"a\n[redacted]"),
            (r"x\nghp_abcdefghijklmnop1234\tAKIAABCDEFGHIJKLMNOP", r"x\n[redacted]\t[redacted]"),
            (r"\\nsk-aaaabbbbccccddddeeee", r"\\n[redacted]"),
            ("-----BEGIN EC PRIVATE KEY-----\nabc", "[redacted]"),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        for text in [
            "",
            r#"{"session_id":"a-b","tool_use_id":"toolu_01","prompt":"mend the parser"}"#,
            r#"{"max_tokens": 100, "input_tokens":5,"has_password":true,"secret":null}"#,
            "risk-averse desk-top sk-1 eyJ cmux_core::agent the secret is out",
            "grüße ❯ 日本",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_letters_and_says_so() {
        assert_eq!(cut("abc".to_owned(), 3), "abc");
        let text = cut("ä".repeat(100), 101);
        assert!(text.len() <= 101 && text.ends_with("… [cut: it had 200 bytes]"), "{text}");
    }
}
