//! Trust, asked of the kernel: given once, told with what it was given to, and gone with its project.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{LogId, NewIds};
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, Refused, Report};
use cmux_core::settings::Settings;
use cmux_core::time::Timestamp;
use cmux_core::trust::{BadTrust, FILES_MAX, ProjectFile, Trust};
use cmux_daemon::kernel::{Denied, Kernel};
use cmux_store::events::{self, Filter};
use cmux_store::{Reader, Store};
use tempfile::TempDir;
use ulid::Ulid;

const NOW: Timestamp = Timestamp(1_767_225_600_000);

#[test]
fn trusting_twice_is_trusting_once_and_all_of_it_is_taken_back_at_once() {
    let mut house = House::new();
    let first = house.trust(trusting(&[file("a")], true));
    assert_eq!((first.files.len(), first.folder), (1, Some(NOW)));
    assert_eq!(house.trust(trusting(&[file("a")], true)), first);
    assert_eq!(house.trust(trusting(&[], false)), first);
    let changed = house.trust(trusting(&[file("b")], false));
    assert_ne!(changed, first);
    assert_eq!(house.trust(Ask::DistrustProject { project: id() }), Trust::default());
    assert_eq!(house.trust(Ask::DistrustProject { project: id() }), Trust::default());
    let told = |digest: &str, folder: bool| {
        let digest = Digest::of(digest.as_bytes()).hex();
        let files = format!(r#"[{{"digest":"{digest}","path":".cmux/config.toml"}}]"#);
        format!(r#"project.trusted {{"files":{files},"folder":{folder}}}"#)
    };
    let taken = r#"project.untrusted {"files":[".cmux/config.toml"],"folder":true}"#;
    assert_eq!(house.told(), [&told("a", true), &told("b", false), taken]);
}

#[test]
fn a_project_that_is_added_again_is_not_trusted_again() {
    let mut house = House::new();
    house.trust(trusting(&[file("a")], true));
    house.ask(Ask::RemoveProject { id: id() }).unwrap();
    house.ask(Ask::AddProject { root: "/a".to_owned(), name: None }).unwrap();
    let again = house.trust(trusting(&[], false));
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn what_is_refused_trusts_nothing() {
    let mut house = House::new();
    let nobody = ProjectId::of("/nobody");
    let none = Denied::Refused(Refused::NoProject(nobody.clone()));
    let elsewhere = Ask::TrustProject { project: nobody.clone(), files: vec![], folder: true };
    assert_eq!(house.ask(elsewhere), Err(none.clone()));
    assert_eq!(house.ask(Ask::DistrustProject { project: nobody }), Err(none));
    let many = vec![file("a"); FILES_MAX + 1];
    let refused = Denied::Refused(BadTrust::TooMany.into());
    assert_eq!(house.ask(trusting(&many, true)), Err(refused));
    assert_eq!(house.told(), [""; 0]);
}

fn trusting(files: &[(ProjectFile, Digest)], folder: bool) -> Ask {
    Ask::TrustProject { project: id(), files: files.to_vec(), folder }
}

fn file(text: &str) -> (ProjectFile, Digest) {
    (ProjectFile::Config, Digest::of(text.as_bytes()))
}

fn id() -> ProjectId {
    ProjectId::of("/a")
}

/// A kernel of its own with a project in it.
struct House {
    folder: TempDir,
    kernel: Kernel,
    ids: Ids,
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let mut ids = Ids(1_000_000);
        let log = LogId::new(ids.ulid());
        let store = Store::open(&folder.path().join("cmux.db"), folder.path(), log, NOW).unwrap().0;
        let started =
            Report::Started { version: "1".to_owned(), pid: 1, guarded: false, news: Vec::new() };
        let kernel = Kernel::new(store, Settings::default().store, started);
        let mut house = House { folder, kernel, ids };
        house.ask(Ask::AddProject { root: "/a".to_owned(), name: None }).unwrap();
        house
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, Denied> {
        let report = Report::Asked { actor: Actor::Operator, ask };
        self.kernel.turn(&[report], NOW, &mut self.ids).unwrap().answers.remove(0)
    }

    #[track_caller]
    fn trust(&mut self, ask: Ask) -> Trust {
        let answer = self.ask(ask).unwrap();
        let Answer::Trust(trust) = answer else { panic!("{answer:?}") };
        trust
    }

    /// Returns what the log tells of trust.
    fn told(&self) -> Vec<String> {
        let mut reader = Reader::open(&self.folder.path().join("cmux.db")).unwrap();
        let rows = reader.read(|view| events::newest(view, 100, &Filter::default())).unwrap();
        let is_trust = |kind: &str| kind.ends_with("trusted");
        let told = rows.iter().filter(|row| is_trust(&row.kind) && row.actor == "operator");
        told.map(|row| format!("{} {}", row.kind, row.data)).collect()
    }
}

/// Ids one after another.
struct Ids(u128);

impl NewIds for Ids {
    fn ulid(&mut self) -> Ulid {
        self.0 += 1;
        Ulid::from(self.0)
    }
}
