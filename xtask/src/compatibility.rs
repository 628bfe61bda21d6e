//! The page that tells what works with each agent CLI. Nothing is on it that no test has shown: each leaves a
//! small file, with the version of the CLI in it, and `make e2e` takes those of earlier runs away.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

const FILE: &str = "docs/compatibility.md";

/// Where the manifests are.
const MANIFESTS: &str = "crates/cmux-drivers/agents";

/// Where the screens are that tests of the kinds have recorded.
const SCREENS: &str = "crates/cmux-drivers/tests/screens";

/// How a screen begins that a test has recorded.
const RECORDED: &str = "source: recorded";

/// The kinds that are run, as `scripts/agents` calls them.
pub(crate) const KINDS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "hermes"];

/// The kinds that are no CLI of somebody else's.
const OWN: [&str; 2] = ["demo", "shell"];

/// Why no test runs the others.
const NOT_RUN: [(&str, &str); 1] =
    [("agy", "it is in no registry of packages from which tests could take it")];

/// What is told of each kind, and what that means.
const COLUMNS: [(&str, &str); 9] = [
    ("launch", "`cmux up` starts it past its own dialogs, with no key of yours"),
    ("ready", "it is known when it is at its prompt"),
    ("deliver", "a message reaches its model whole: many lines, several alphabets, 8 KiB"),
    ("confirm", "it is known from the CLI itself that the message was read"),
    ("asking", "it is known that it asks for a permission"),
    ("resume", "killed, it comes back with its session and knows what was said"),
    ("usage", "its tokens are counted as its model told them"),
    ("block", "its prompt hook refuses a second copy of a message, so that each is read once"),
    ("draft", "what you have begun to write at its prompt survives a message"),
];

const HEAD: &str = "\
# Compatibility

Written by `cargo xtask compatibility` from a run of `make e2e`, in which the real CLIs ran against a scripted
model. Other versions are not refused; `cmux doctor` tells which you have.

- **works**: a test has shown it in this version.
- **works without confirmation**: a test has shown it, and that the CLI itself does not tell whether a message was
  read; cmux goes by what it sees on the screen.
- **no**: a test has tried, or it is said below why not.
- **not tested**: no test runs this CLI. What cmux knows of it was looked up, and may be wrong.

";

/// What holds of every kind that is run, as a test of each shows.
const OF_ALL: &str = "\
- All of them: one that was killed before its model answered does not ask again by itself. If the message is in the
  conversation that it goes on with, it is called delivered then, and read with the next prompt; if not, it is given
  to it again.
";

/// One kind, as far as it was tried.
#[derive(Clone, Debug, Default)]
struct Row {
    title: String,
    /// The version that is said to be tested.
    version: Option<String>,
    is_run: bool,
    /// Why no test runs it, if none does.
    not_run: Option<&'static str>,
    /// What it cannot do, and why.
    cannot: BTreeMap<String, String>,
    /// What was shown.
    shown: Vec<String>,
    /// What a test has tried, and the CLI did not do.
    lacking: Vec<String>,
}

/// Writes the page, and returns whether that could be done.
pub(crate) fn write(root: &Path) -> bool {
    let page = match rows(root) {
        Ok(rows) => page(&rows),
        Err(why) => return failed(&why),
    };
    match fs::write(root.join(FILE), page) {
        Ok(()) => {
            println!("compatibility: wrote {FILE}");
            true
        }
        Err(error) => failed(&format!("{FILE} could not be written: {error}")),
    }
}

/// Returns whether all was shown that is not said to be impossible, and the page says so.
pub(crate) fn check(root: &Path) -> bool {
    let rows = match rows(root) {
        Ok(rows) => rows,
        Err(why) => return failed(&why),
    };
    let mut findings = findings(&rows);
    findings.extend(unseen(&root.join(SCREENS), &records(root), &KINDS));
    if fs::read_to_string(root.join(FILE)).ok().as_deref() != Some(&page(&rows)) {
        findings
            .push(format!("{FILE} is not what the tests have shown: cargo xtask compatibility"));
    }
    told(&findings)
}

/// Returns whether all was shown of these kinds that is not said to be impossible.
pub(crate) fn check_shown(root: &Path, kinds: &[&str]) -> bool {
    match kinds.iter().map(|kind| row(root, kind)).collect::<Result<Vec<Row>, String>>() {
        Ok(rows) => {
            let mut findings = findings(&rows);
            findings.extend(unseen(&root.join(SCREENS), &records(root), kinds));
            told(&findings)
        }
        Err(why) => failed(&why),
    }
}

/// Takes away what earlier runs have shown of these kinds, and returns whether that could be done.
pub(crate) fn forget(root: &Path, kinds: &[&str]) -> bool {
    for entry in fs::read_dir(records(root)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_of = |kind: &&&str| name.strip_prefix(**kind).is_some_and(|it| it.starts_with('-'));
        if kinds.iter().any(|kind| is_of(&kind))
            && let Err(error) = fs::remove_file(entry.path())
        {
            return failed(&format!("{} could not be removed: {error}", entry.path().display()));
        }
    }
    true
}

fn told(findings: &[String]) -> bool {
    for finding in findings {
        println!("compatibility: {finding}");
    }
    if findings.is_empty() {
        println!("compatibility: all was shown that is not said to be impossible");
    }
    findings.is_empty()
}

fn failed(why: &str) -> bool {
    eprintln!("compatibility: {why}");
    false
}

fn rows(root: &Path) -> Result<Vec<Row>, String> {
    kinds(root)?.iter().map(|kind| row(root, kind)).collect()
}

/// Returns the kinds that are told of, those that are run first.
fn kinds(root: &Path) -> Result<Vec<String>, String> {
    let run = KINDS.iter().map(|kind| (*kind).to_owned());
    Ok(run.chain(not_run(root)?).collect())
}

/// Returns the kinds that no test runs.
fn not_run(root: &Path) -> Result<Vec<String>, String> {
    let unread = |error: std::io::Error| format!("{MANIFESTS}: {error}");
    let mut kinds = Vec::new();
    for entry in fs::read_dir(root.join(MANIFESTS)).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let kind = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !KINDS.iter().chain(&OWN).any(|it| *it == kind) {
            kinds.push(kind);
        }
    }
    kinds.sort();
    Ok(kinds)
}

/// Returns what is told of this kind.
fn row(root: &Path, kind: &str) -> Result<Row, String> {
    let row = untried(root, kind)?;
    let shown = noted(root, kind, "", row.version.as_deref())?;
    let lacking = noted(root, kind, "no-", row.version.as_deref())?;
    Ok(Row { shown, lacking, ..row })
}

/// Returns what the manifest of this kind tells.
fn untried(root: &Path, kind: &str) -> Result<Row, String> {
    let path = root.join(MANIFESTS).join(format!("{kind}.toml"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    let told = |table: &Table, key: &str| Some(table.get(key)?.as_str()?.to_owned());
    let without = |key: &str| format!("{} has no {key}", path.display());
    let find = manifest.get("find").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let cannot = manifest.get("cannot").and_then(toml::Value::as_table).into_iter().flatten();
    let version = told(&find, "tested");
    let is_run = KINDS.contains(&kind);
    if is_run && version.is_none() {
        return Err(without("tested"));
    }
    let not_run = NOT_RUN.iter().find(|(of, _)| *of == kind).map(|(_, why)| *why);
    if !is_run && not_run.is_none() {
        return Err(format!("nothing says why no test runs {kind}"));
    }
    Ok(Row {
        title: told(&manifest, "title").ok_or_else(|| without("title"))?,
        version,
        is_run,
        cannot: cannot
            .filter_map(|(key, why)| Some((key.clone(), why.as_str()?.to_owned())))
            .collect(),
        not_run,
        ..Row::default()
    })
}

/// Returns of what tests have left notes that begin like this, with the version that is said to be tested.
fn noted(
    root: &Path,
    kind: &str,
    prefix: &str,
    version: Option<&str>,
) -> Result<Vec<String>, String> {
    let mut noted = Vec::new();
    for (column, _) in COLUMNS {
        let note = records(root).join(format!("{kind}-{prefix}{column}"));
        let Ok(of) = fs::read_to_string(note) else { continue };
        let of = of.lines().next().unwrap_or_default();
        if !version.is_some_and(|version| tells(of, version)) {
            let version = version.unwrap_or("any");
            return Err(format!("{kind} {column} was tried with {of}, not {version}"));
        }
        noted.push(column.to_owned());
    }
    Ok(noted)
}

/// Whether what a program says of itself tells of this version. Some say their name, too, and begin it with a `v`.
fn tells(of: &str, version: &str) -> bool {
    of.split_whitespace().any(|word| word.strip_prefix('v').unwrap_or(word) == version)
}

/// Returns where tests leave what they have shown.
fn records(root: &Path) -> PathBuf {
    crate::target(root).join("e2e")
}

/// Returns what was neither shown nor said to be impossible, or both.
fn findings(rows: &[Row]) -> Vec<String> {
    let mut findings = Vec::new();
    for row in rows {
        let who = row.called();
        if !row.is_run && row.version.is_some() {
            findings.push(format!("{who} is said to be tested, and no test runs it"));
        }
        if row.lacks("confirm") && !row.is_silent() {
            findings.push(format!("nothing says why {who} does not tell what it has read"));
        }
        for (column, _) in COLUMNS {
            let is_shown = row.has(column);
            if row.cell(column) == NOT_SHOWN {
                findings.push(format!("no test has shown {column} of {who}"));
            }
            if is_shown && row.cannot.contains_key(column) {
                findings
                    .push(format!("{column} of {who} was shown, and its manifest says it cannot"));
            }
            if is_shown && row.lacks(column) {
                findings.push(format!("{column} of {who} was shown, and not in another test"));
            }
        }
    }
    findings
}

/// Returns which recorded screens of these kinds no test has seen again: the rules that know them were not tried.
fn unseen(screens: &Path, records: &Path, kinds: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for kind in kinds {
        for entry in fs::read_dir(screens.join(kind)).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_seen = records.join(format!("{kind}-screen-{name}")).exists();
            if text.starts_with(RECORDED) && !is_seen {
                findings.push(format!("no test has seen the screen {name} of {kind}"));
            }
        }
    }
    findings.sort();
    findings
}

const NOT_SHOWN: &str = "not shown";
const NOT_TESTED: &str = "not tested";
const UNCONFIRMED: &str = "works without confirmation";

impl Row {
    fn has(&self, column: &str) -> bool {
        self.shown.iter().any(|it| it == column)
    }

    /// Whether a test has tried this, and the CLI did not do it.
    fn lacks(&self, column: &str) -> bool {
        self.lacking.iter().any(|it| it == column)
    }

    /// Whether its manifest says that nothing but its screen can tell what it has read.
    fn is_silent(&self) -> bool {
        ["transcript", "api"].iter().all(|way| self.cannot.contains_key(*way))
    }

    fn cell(&self, column: &str) -> &'static str {
        let is_impossible = self.lacks(column) || self.cannot.contains_key(column);
        match (self.has(column), is_impossible) {
            _ if !self.is_run => NOT_TESTED,
            (true, _) if column == "deliver" && self.lacks("confirm") => UNCONFIRMED,
            (true, _) => "works",
            (false, true) => "no",
            (false, false) => NOT_SHOWN,
        }
    }

    /// Returns its name and version.
    fn called(&self) -> String {
        let version = self.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        format!("{}{version}", self.title)
    }
}

/// Returns the page.
fn page(rows: &[Row]) -> String {
    let mut page = HEAD.to_owned();
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    page += &line(&[&["", "version"][..], &names].concat());
    page += &format!("|{}\n", "---|".repeat(names.len() + 2));
    for row in rows {
        let cells: Vec<&str> = names.iter().map(|name| row.cell(name)).collect();
        let version = row.version.as_deref().unwrap_or("–");
        page += &line(&[&[row.title.as_str(), version][..], &cells].concat());
    }
    page += "\n| | |\n|---|---|\n";
    for (name, means) in COLUMNS {
        page += &line(&[name, means]);
    }
    page += "\n## What is not done, and why\n\n";
    page += OF_ALL;
    for row in rows.iter().filter(|row| row.is_run) {
        for (what, why) in &row.cannot {
            // Writing to a text cannot fail.
            let _ = writeln!(page, "- {}, `{what}`: {why}.", row.title);
        }
    }
    for row in rows {
        if let Some(why) = row.not_run {
            let _ = writeln!(page, "- {} is not tested: {why}.", row.title);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_shown_works_and_what_is_neither_shown_nor_impossible_is_missing() {
        let whole = without(&["block"]);
        assert_eq!((whole.cell("launch"), whole.cell("block")), ("works", "no"));
        check(&whole, &[]);
        check(&without(&["block", "draft"]), &["no test has shown draft of Some CLI 1.2"]);
        let told = page(&[whole]);
        assert!(told.contains("| Some CLI | 1.2 | works | works |"), "{told}");
        assert!(told.contains("- Some CLI, `block`: it has no hooks."), "{told}");
    }

    #[test]
    fn what_is_delivered_and_was_seen_not_to_be_confirmed_works_without() {
        let silent = without(&["block", "confirm"]);
        assert_eq!(silent.cell("deliver"), "works");
        check(&silent, &["no test has shown confirm of Some CLI 1.2"]);
        let tried = Row { lacking: vec!["confirm".to_owned()], ..silent };
        assert_eq!((tried.cell("deliver"), tried.cell("confirm")), (UNCONFIRMED, "no"));
        check(&tried, &["nothing says why Some CLI 1.2 does not tell what it has read"]);
        let why = |what: &str| (what.to_owned(), "it keeps none".to_owned());
        let mut told = tried;
        told.cannot.extend(["transcript", "api"].map(why));
        check(&told, &[]);
    }

    #[test]
    fn what_is_said_both_ways_is_found() {
        let said = "block of Some CLI 1.2 was shown, and its manifest says it cannot";
        check(&without(&[]), &[said]);
        let lacking = vec!["ready".to_owned()];
        let tried = Row { lacking, ..without(&["block"]) };
        check(&tried, &["ready of Some CLI 1.2 was shown, and not in another test"]);
    }

    #[test]
    fn what_no_test_runs_is_not_tested_and_must_not_say_that_it_is() {
        let not_run = Some("nobody has it");
        let row = Row { title: "Some CLI".to_owned(), not_run, ..Row::default() };
        assert_eq!(row.cell("launch"), NOT_TESTED);
        check(&row, &[]);
        let told = page(std::slice::from_ref(&row));
        assert!(told.contains("| Some CLI | – | not tested | not tested |"), "{told}");
        assert!(told.contains("- Some CLI is not tested: nobody has it."), "{told}");
        let said = Row { version: Some("1.2".to_owned()), ..row };
        check(&said, &["Some CLI 1.2 is said to be tested, and no test runs it"]);
    }

    /// Only `make e2e` sees what works; what the manifests say is looked at each time.
    #[test]
    fn the_page_is_of_the_manifests_as_they_are() {
        let root = crate::root();
        let mut rows = Vec::new();
        for kind in kinds(&root).unwrap() {
            let mut row = untried(&root, &kind).unwrap();
            row.lacking = row.cannot.keys().cloned().collect();
            if row.is_silent() {
                row.lacking.push("confirm".to_owned());
            }
            let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
            row.shown = names.filter(|name| !row.lacking.contains(name)).collect();
            rows.push(row);
        }
        let told = fs::read_to_string(root.join(FILE)).unwrap();
        assert_eq!(
            told,
            page(&rows),
            "run `make e2e`, then `cargo xtask compatibility`; what a CLI lacks is said in its manifest, too"
        );
    }

    #[test]
    fn a_recorded_screen_that_nobody_has_seen_again_is_found_and_a_drawn_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let (screens, records) = (root.path().join("screens"), root.path().join("records"));
        fs::create_dir_all(screens.join("some")).unwrap();
        fs::create_dir(&records).unwrap();
        for (name, source) in [("idle", "recorded"), ("busy", "recorded"), ("near-idle", "drawn")] {
            let file = screens.join("some").join(format!("{name}.txt"));
            fs::write(file, format!("source: {source}\n")).unwrap();
        }
        fs::write(records.join("some-screen-idle"), "").unwrap();
        let missed = ["no test has seen the screen busy of some"];
        assert_eq!(unseen(&screens, &records, &["some"]), missed);
        assert_eq!(unseen(&screens, &records, &["other"]), [""; 0]);
    }

    #[test]
    fn what_is_not_run_is_known_from_the_manifests() {
        let kinds = not_run(&crate::root()).unwrap();
        assert!(kinds.iter().any(|kind| kind == "agy"), "{kinds:?}");
        assert!(!kinds.iter().any(|kind| kind == "claude" || kind == "demo"), "{kinds:?}");
    }

    #[test]
    fn a_version_is_known_among_what_a_program_says_of_itself() {
        for (of, expected) in [
            ("1.2", true),
            ("1.2 (Some CLI)", true),
            ("Some CLI v1.2 (2026.7.20)", true),
            ("some-cli 1.2.3", false),
            ("v11.2", false),
            ("", false),
        ] {
            assert_eq!(tells(of, "1.2"), expected, "{of}");
        }
    }

    #[track_caller]
    fn check(row: &Row, expected: &[&str]) {
        assert_eq!(findings(std::slice::from_ref(row)), expected);
    }

    /// Returns a kind that has shown all but this.
    fn without(names: &[&str]) -> Row {
        let shown = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
        Row {
            title: "Some CLI".to_owned(),
            version: Some("1.2".to_owned()),
            is_run: true,
            not_run: None,
            cannot: BTreeMap::from([("block".to_owned(), "it has no hooks".to_owned())]),
            shown: shown.filter(|it| !names.contains(&it.as_str())).collect(),
            lacking: Vec::new(),
        }
    }
}
