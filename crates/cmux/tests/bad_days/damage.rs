//! Damaged stores: what a daemon makes of one, and what must hold whatever it was.

use std::fs;
use std::path::PathBuf;

use cmux_testkit::daemon::Daemon;
use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use cmux_wire::client::ClientError;
use cmux_wire::store::{Audit, Check};

use crate::PROGRAM;
use crate::caller::{Caller, Told, names};

/// How often a daemon may be started on a damaged store before it is steady.
const STARTS_MAX: usize = 3;

/// A sound store, and what it tells.
pub(crate) struct Sound {
    pub(crate) bytes: Vec<u8>,
    pub(crate) told: Told,
}

/// What came of a store that was damaged.
pub(crate) struct Survived {
    pub(crate) starts: usize,
    pub(crate) steady: Steady,
    /// What a person is told of a repair, if there was one.
    pub(crate) notice: Option<String>,
    pub(crate) kept: Option<Kept>,
}

/// A damaged store that was set aside.
pub(crate) struct Kept {
    pub(crate) folder: PathBuf,
    pub(crate) database: Vec<u8>,
}

/// What a daemon tells that goes on.
pub(crate) struct Steady {
    pub(crate) told: Told,
    /// Whether each project is found by its id.
    pub(crate) finds: bool,
    pub(crate) check: Check,
    pub(crate) audit: Audit,
}

/// Makes a store with so many projects.
pub(crate) fn sound(projects: usize) -> Sound {
    let home = TestHome::new(PROGRAM);
    let daemon = home.daemon();
    let caller = Caller::new(home.client());
    for n in 0..projects {
        caller.add(&format!("/projects/{n}")).unwrap();
    }
    // Each is looked for and not found, which changes its row and is an event too.
    eventually("all is quiet", || (caller.count("project.missing") == projects).then_some(()));
    let told = caller.read_all().unwrap();
    assert!(daemon.stop().success());
    Sound { bytes: fs::read(home.root().join("cmux.db")).unwrap(), told }
}

/// Starts daemons on the damaged store in `home` until one is steady, and sees that none does anything
/// worse than to end.
#[track_caller]
pub(crate) fn survive(home: &TestHome, context: &str) -> Survived {
    let caller = Caller::new(home.client());
    let mut last_words = String::new();
    for starts in 1..=STARTS_MAX {
        let mut daemon = Daemon::launch(home, home.command(&["daemon", "run"]));
        if let Some(steady) = steady(&caller, &mut daemon, context) {
            let notices = caller.status().unwrap().store.notices;
            let notice = notices.into_iter().find(|notice| notice.kind == "store.repaired");
            assert!(daemon.stop().success());
            let (notice, kept) = (notice.map(|it| it.text), kept(home, context));
            return Survived { starts, steady, notice, kept };
        }
        let said = daemon.said();
        assert_eq!(daemon.wait().code(), Some(75), "{context}: {said}");
        assert!(!said.contains("panicked"), "{context}: {said}");
        last_words += &said;
    }
    panic!("{context}: it is not steady after {STARTS_MAX} starts: {last_words}");
}

/// Finds what was set aside in `home`, which is one store at most.
fn kept(home: &TestHome, context: &str) -> Option<Kept> {
    let backups = home.root().join("backups");
    let folders: Vec<String> =
        names(&backups).into_iter().filter(|name| name.starts_with("damaged-")).collect();
    assert!(folders.len() <= 1, "{context}: {folders:?}");
    let folder = backups.join(folders.first()?);
    Some(Kept { database: fs::read(folder.join("cmux.db")).unwrap(), folder })
}

/// Asks for all that there is, and for a change. Returns what was told, or nothing if `daemon` ends.
fn steady(caller: &Caller, daemon: &mut Daemon, context: &str) -> Option<Steady> {
    let answers = eventually("it answers or ends", || match daemon.ended() {
        Some(_) => Some(false),
        None => caller.status().is_ok().then_some(true),
    });
    let asked = || -> Result<Steady, ClientError> {
        caller.add("/after")?;
        let told = caller.read_all()?;
        let finds = caller.finds(&told.projects)?;
        Ok(Steady { told, finds, check: caller.check()?, audit: caller.audit()? })
    };
    let answered = answers.then(asked)?;
    match (answered, caller.status().map(|status| status.store.why)) {
        (Ok(steady), Ok(None)) => {
            let said = daemon.said();
            assert!(!said.contains("panicked"), "{context}: {said}");
            Some(steady)
        }
        // Whoever cannot be read to the end must not go on as if nothing were.
        (answered, trouble) => {
            let error = answered.err();
            let what = format!("it ends, to be mended, {context}: {error:?}, {trouble:?}");
            eventually(&what, || daemon.ended());
            None
        }
    }
}
