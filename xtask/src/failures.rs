//! The names of the tests that failed, as nextest's report has them: the gate tells them once more at its end,
//! as that is often all that is kept of a log.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Takes away the report of an earlier run, and returns whether that could be done.
pub(crate) fn forget(root: &Path, profile: &str) -> bool {
    match fs::remove_file(report(root, profile)) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => {
            eprintln!("the report of earlier tests could not be removed: {error}");
            false
        }
    }
}

/// Returns the tests that failed in the last run, if there is a report of one.
pub(crate) fn names(root: &Path, profile: &str) -> Vec<String> {
    fs::read_to_string(report(root, profile)).map_or_else(|_| Vec::new(), |report| read(&report))
}

fn report(root: &Path, profile: &str) -> PathBuf {
    crate::target(root).join("nextest").join(profile).join("junit.xml")
}

/// Returns the tests that failed by this report, each with the program that it is in.
fn read(report: &str) -> Vec<String> {
    let cases = report.split("<testcase ").skip(1);
    let failed = cases.filter(|case| case.contains("<failure") || case.contains("<error"));
    failed
        .filter_map(|case| Some(format!("{} {}", said(case, "classname")?, said(case, "name")?)))
        .collect()
}

/// Returns the attribute of this name. Names of tests have no character that XML writes in another way.
fn said<'a>(case: &'a str, attribute: &str) -> Option<&'a str> {
    let tag = case.split_once('>')?.0;
    let mut pairs = tag.split("\" ").map(|pair| pair.trim_start().split_once("=\""));
    pairs.find_map(|pair| {
        pair.filter(|(name, _)| *name == attribute)
            .map(|(_, value)| value.trim_end_matches(['"', '/']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_failed_are_named_and_no_others() {
        let report = r#"<testsuites><testsuite name="cmux::mail" tests="4">
<testcase name="storm::all" classname="cmux::mail" timestamp="2026-01-01T00:00:00Z" time="1.0">
</testcase>
<testcase name="steps::one" classname="cmux::mail" time="1.0">
    <failure message="a &quot;b&quot;" type="test failure"></failure>
</testcase>
<testcase name="door::wide" classname="cmux::mail"/>
<testcase classname="cmux::doors" name="gone"><error type="execution failure"/></testcase>
</testsuite></testsuites>"#;
        assert_eq!(read(report), ["cmux::mail steps::one", "cmux::doors gone"]);
        assert!(read("").is_empty() && read("<testcase ").is_empty());
    }
}
