//! The name that was probably meant.

/// Returns the one of `known` that is most like `word`, if any is like it at all.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let like = |name: &str| strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase());
    let scored = known.into_iter().map(|name| (like(name), name));
    scored
        .filter(|&(score, _)| score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["host", "port", "guard.exits_max", "guard.window_s"];
        assert_eq!(nearest("prot", known), Some("port"));
        assert_eq!(nearest("guard.exit_max", known), Some("guard.exits_max"));
        assert_eq!(nearest("Host", known), Some("host"));
        assert_eq!(nearest("zzz", known), None);
    }
}
