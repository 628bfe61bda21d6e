//! Text as tmux's command language takes it, and as its formats leave it alone.

use std::fmt::Write;

/// Why a text cannot be given to tmux.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    #[error("{what} has a NUL byte in it, which tmux cannot take: leave it out")]
    Nul { what: &'static str },
    #[error("{what} has `{letter}` in it: only letters, digits, `_`, `-` and `.` may be")]
    Letter { what: &'static str, letter: char },
    #[error("{what} has {bytes} bytes, and at most {most} may be: make it shorter")]
    Long { what: &'static str, bytes: usize, most: usize },
    #[error("{what} is empty")]
    Empty { what: &'static str },
}

/// Returns `text` as one word of tmux's command language, whatever is in it but NUL.
pub fn word(text: &str) -> Result<String, BadText> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '\0' => return Err(BadText::Nul { what: "a word for tmux" }),
            '"' | '\\' | '$' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            // A tilde after the opening quote would become somebody's home.
            '~' => quoted.push_str("\\176"),
            '\u{1}'..='\u{1f}' | '\u{7f}' => {
                // A String takes all that is written to it.
                let _ = write!(quoted, "\\{:03o}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

/// Returns a format that stands for `text` itself, whatever is in it.
pub fn literal(text: &str) -> String {
    let mut format = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches('#');
        let hashes = &from[..from.len() - after.len()];
        format.push_str(before);
        format.push_str(hashes);
        // What could begin a style is kept as it is, for whoever draws it.
        if !after.starts_with('[') {
            format.push_str(hashes);
        }
        rest = after;
    }
    format + rest
}

/// Checks that `text` means nothing to tmux wherever it stands, and returns it.
pub fn plain<'a>(what: &'static str, text: &'a str, most: usize) -> Result<&'a str, BadText> {
    if text.is_empty() {
        return Err(BadText::Empty { what });
    }
    if text.len() > most {
        return Err(BadText::Long { what, bytes: text.len(), most });
    }
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || "_-.".contains(*it);
    match text.chars().find(|it| !is_plain(it)) {
        Some(letter) => Err(BadText::Letter { what, letter }),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_is_quoted_against_all_that_tmux_understands() {
        for (text, expected) in [
            ("", r#""""#),
            ("a b;c", r#""a b;c""#),
            ("-n", r#""-n""#),
            (r#"a"b'c"#, r#""a\"b'c""#),
            (r"\n", r#""\\n""#),
            ("$HOME", r#""\$HOME""#),
            ("~/x~", r#""\176/x\176""#),
            ("a\n\tb\u{1b}\u{7f}", r#""a\012\011b\033\177""#),
            ("#{pane_id} #(id) {}", r##""#{pane_id} #(id) {}""##),
            ("ü日🦀", r#""ü日🦀""#),
        ] {
            assert_eq!(word(text).as_deref(), Ok(expected));
        }
        assert_eq!(word("a\0b"), Err(BadText::Nul { what: "a word for tmux" }));
    }

    #[test]
    fn a_literal_is_doubled_but_where_a_style_begins() {
        for (text, expected) in [
            ("", ""),
            ("#", "##"),
            ("#{x}", "##{x}"),
            ("#(date)", "##(date)"),
            ("a##b#", "a####b##"),
            ("#[red]", "#[red]"),
            ("##[red]#", "##[red]##"),
            ("100%", "100%"),
        ] {
            assert_eq!(literal(text), expected, "{text}");
        }
    }

    #[test]
    fn only_what_means_nothing_is_plain() {
        assert_eq!(plain("a run", "run_01J-x.2", 11), Ok("run_01J-x.2"));
        assert_eq!(plain("a run", "", 11), Err(BadText::Empty { what: "a run" }));
        let long = BadText::Long { what: "a run", bytes: 12, most: 11 };
        assert_eq!(plain("a run", "run_01J-x.23", 11), Err(long));
        for letter in ['#', ',', '}', '|', ' ', '*', '?', '[', '\n', '%', 'é'] {
            let refused = Err(BadText::Letter { what: "a run", letter });
            assert_eq!(plain("a run", &format!("a{letter}b"), 11), refused);
        }
    }

    proptest! {
        #[test]
        fn a_word_never_ends_its_line(text in any::<String>()) {
            if let Ok(word) = word(&text) {
                prop_assert!(!word.contains(|it: char| it.is_ascii_control()));
            }
        }
    }
}
