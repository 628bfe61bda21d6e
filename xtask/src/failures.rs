//! What nextest's report has of each test. The names of those that failed the gate tells once more at its end, as
//! that is often all that is kept of a log. Those that the product's promises stand on have to be there and to have
//! passed: one that is renamed, or left out by a filter, fails nothing by itself.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The tests that must have passed, each as the report calls it.
const ESSENTIAL: &str = "xtask/essential-tests.txt";

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
    fs::read_to_string(report(root, profile))
        .map_or_else(|_| Vec::new(), |report| cases(&report, true))
}

/// Returns whether all of the essential tests that `is_of` takes have passed in the last run, and tells which did not.
pub(crate) fn check(root: &Path, profile: &str, is_of: impl Fn(&str) -> bool) -> bool {
    let read = |path: PathBuf| {
        let read = fs::read_to_string(&path);
        read.inspect_err(|error| eprintln!("{} could not be read: {error}", path.display()))
    };
    let (Ok(list), Ok(report)) = (read(root.join(ESSENTIAL)), read(report(root, profile))) else {
        return false;
    };
    let missing = missing(&list, &report, is_of);
    for name in &missing {
        println!("essential: {name} was not run, or has not passed");
    }
    if missing.is_empty() {
        println!("essential: all of {ESSENTIAL} that belong here have passed");
    }
    missing.is_empty()
}

/// Returns the tests of a list that `is_of` takes and that have not passed by this report.
fn missing(list: &str, report: &str, is_of: impl Fn(&str) -> bool) -> Vec<String> {
    let passed = cases(report, false);
    let wanted = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wanted = wanted.filter(|name| is_of(name) && !passed.iter().any(|it| it == name));
    wanted.map(str::to_owned).collect()
}

fn report(root: &Path, profile: &str) -> PathBuf {
    crate::target(root).join("nextest").join(profile).join("junit.xml")
}

/// Returns the tests that failed by this report, or those that passed, each with the program that it is in.
fn cases(report: &str, is_failed: bool) -> Vec<String> {
    let cases = report.split("<testcase ").skip(1);
    let has_failed = |case: &str| ["<failure", "<error"].iter().any(|it| case.contains(it));
    let wanted = cases.filter(|case| match is_failed {
        true => has_failed(case),
        false => !has_failed(case) && !case.contains("<skipped"),
    });
    wanted
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
        assert_eq!(cases(report, true), ["cmux::mail steps::one", "cmux::doors gone"]);
        assert!(cases("", true).is_empty() && cases("<testcase ", true).is_empty());
    }

    #[test]
    fn an_essential_test_that_is_gone_or_was_left_out_is_missed() {
        let case = |name: &str, more: &str| {
            format!("<testcase name=\"{name}\" classname=\"cmux::e2e\">{more}</testcase>\n")
        };
        let report = case("one", "") + &case("two", "<skipped/>") + &case("three", "<failure/>");
        let list =
            "# All.\n\ncmux::e2e one\ncmux::e2e two\ncmux::e2e three\ncmux::e2e four\nother five\n";
        let is_of = |name: &str| name.starts_with("cmux::e2e ");
        let missed = ["cmux::e2e two", "cmux::e2e three", "cmux::e2e four"];
        assert_eq!(missing(list, &report, is_of), missed);
        assert_eq!(missing(list, "", |name| !is_of(name)), ["other five"]);
    }

    /// A name on the list that no source has would never pass.
    #[test]
    fn what_is_on_the_list_is_in_the_sources() {
        let root = crate::root();
        let list = fs::read_to_string(root.join(ESSENTIAL)).unwrap();
        let names = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let sources: String = crate::tree::Tree::read(&root)
            .unwrap()
            .texts()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(_, text)| text)
            .collect();
        let mut count = 0;
        for name in names {
            let function = name.rsplit([':', ' ']).next().unwrap();
            assert!(sources.contains(&format!("fn {function}()")), "{name}");
            count += 1;
        }
        assert!(count > 60, "{count} are left");
    }
}
