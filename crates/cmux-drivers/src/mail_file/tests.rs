//! Tests of mail in files: in a repository that means well, and in others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::thread;
use std::time::SystemTime;

use tempfile::TempDir;

use super::*;
use crate::clock;

#[test]
fn a_body_is_laid_byte_for_byte_and_taken_away() {
    let root = tempfile::tempdir().unwrap();
    let all: Vec<u8> = (0..=255).collect();
    for (n, body) in [b"".as_slice(), b"x", b"\r\n\0\x1b[201~\xff", &all, &vec![b'x'; BODY_MAX]]
        .into_iter()
        .enumerate()
    {
        let path = write(root.path(), id(n), body).unwrap();
        assert_eq!(path, root.path().join(format!(".cmux/mail/{}", id(n))));
        // To lay it twice is to lay it once.
        write(root.path(), id(n), body).unwrap();
        assert!(fs::read(&path).unwrap() == body, "{n}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(remove(root.path(), id(n)).unwrap() && !remove(root.path(), id(n)).unwrap());
    }
    let refused = write(root.path(), id(9), &vec![b'x'; BODY_MAX + 1]).unwrap_err();
    assert!(matches!(refused, MailFileError::TooLong(_)), "{refused}");
    assert_eq!(listed(&root, ".cmux/mail"), [""; 0]);
}

#[test]
fn the_first_of_many_at_once_are_all_laid() {
    for _ in 0..20 {
        let root = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for n in 0..8 {
                let root = root.path();
                scope.spawn(move || write(root, id(n), b"x").unwrap());
            }
        });
        assert_eq!(listed(&root, ".cmux/mail").len(), 8);
    }
}

#[test]
fn only_what_passes_by_itself_is_worth_another_try() {
    let of = |errno: Errno| MailFileError::Unwritable { path: "x".into(), source: errno.into() };
    for (error, expected) in [
        (of(Errno::NOSPC), true),
        (of(Errno::DQUOT), true),
        (of(Errno::MFILE), true),
        (of(Errno::ACCESS), false),
        (of(Errno::ROFS), false),
        (MailFileError::Link("x".into()), false),
    ] {
        assert_eq!(error.is_passing(), expected, "{error}");
    }
}

#[test]
fn nothing_is_written_through_what_a_repository_has_laid_there() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("precious"), "mine").unwrap();
    let link = |root: &TempDir, at: &str| symlink(out.path(), root.path().join(at)).unwrap();
    let made = |root: &TempDir| fs::create_dir(root.path().join(".cmux")).unwrap();
    check_refused(|root| link(root, ".cmux"), ".cmux is a link");
    check_refused(
        |root| fs::write(root.path().join(".cmux"), "").unwrap(),
        ".cmux is not a folder",
    );
    check_refused(
        |root| {
            made(root);
            link(root, ".cmux/mail");
        },
        "mail is a link",
    );
    check_refused(
        |root| {
            made(root);
            pipe(&root.path().join(".cmux/mail"));
        },
        "mail is not a folder",
    );
    check_refused(
        |root| fs::create_dir_all(root.path().join(format!(".cmux/mail/{}/x", id(1)))).unwrap(),
        "cannot be written",
    );
    assert_eq!(listed(&out, "."), ["precious"]);
    assert_eq!(fs::read_to_string(out.path().join("precious")).unwrap(), "mine");
}

#[test]
fn a_folder_that_others_may_write_to_is_refused_until_they_may_not() {
    for (mode, is_refused) in [(0o770, true), (0o703, true), (0o777, true), (0o755, false)] {
        let root = tempfile::tempdir().unwrap();
        let mail = root.path().join(".cmux/mail");
        fs::create_dir_all(&mail).unwrap();
        fs::set_permissions(&mail, fs::Permissions::from_mode(mode)).unwrap();
        let written = write(root.path(), id(1), b"body");
        assert_eq!(written.is_err(), is_refused, "{mode:o}: {written:?}");
        if let Err(refused) = written {
            assert!(refused.to_string().contains("`chmod go-w` it"), "{refused}");
            assert!(!refused.is_passing());
            assert!(
                sweep(root.path(), clock::wall()).is_err()
                    && listed(&root, ".cmux/mail").is_empty()
            );
        }
    }
    // What cmux makes is its own, whoever may write to the folder around it.
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(".cmux")).unwrap();
    fs::set_permissions(root.path().join(".cmux"), fs::Permissions::from_mode(0o775)).unwrap();
    write(root.path(), id(1), b"body").unwrap();
}

#[test]
fn what_has_the_name_of_a_message_is_replaced_and_not_written_to() {
    let out = tempfile::tempdir().unwrap();
    let (precious, hard) = (out.path().join("precious"), out.path().join("hard"));
    fs::write(&precious, "mine").unwrap();
    fs::write(&hard, "mine").unwrap();
    for n in 0..3 {
        let root = tempfile::tempdir().unwrap();
        let mail = root.path().join(".cmux/mail");
        fs::create_dir_all(&mail).unwrap();
        let path = mail.join(id(1).to_string());
        match n {
            0 => symlink(&precious, &path).unwrap(),
            1 => fs::hard_link(&hard, &path).unwrap_or_default(),
            _ => pipe(&path),
        }
        write(root.path(), id(1), b"body").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"body");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }
    for path in [precious, hard] {
        assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    }
}

#[test]
fn a_folder_of_another_user_s_is_refused() {
    // Only root can make one.
    if !geteuid().is_root() {
        return;
    }
    check_refused(
        |root| {
            let folder = root.path().join(".cmux");
            fs::create_dir(&folder).unwrap();
            std::os::unix::fs::chown(&folder, Some(12_345), None).unwrap();
        },
        ".cmux belongs to another user",
    );
}

#[test]
fn git_ignores_the_mail_and_no_list_of_a_person_s_is_changed() {
    for (theirs, expected) in [
        (None, Some("# Made by cmux: what is not to be committed.\nmail/\n")),
        (Some("mail/\n"), None),
        (Some("x\n/mail \n"), None),
        (Some(" mail/\n"), None),
        (Some("*\n!mail\n"), None),
        (Some("*\n"), None),
        (Some("journal/\n"), None),
        (Some(""), None),
    ] {
        let root = tempfile::tempdir().unwrap();
        git(&root, &["init", "-q"]);
        fs::create_dir(root.path().join(".cmux")).unwrap();
        let list = root.path().join(".cmux/.gitignore");
        theirs.map(|text| fs::write(&list, text).unwrap()).unwrap_or_default();
        for n in 0..2 {
            write(root.path(), id(n), b"body").unwrap();
        }
        assert_eq!(fs::read_to_string(&list).unwrap(), expected.or(theirs).unwrap());
        let seen = git(&root, &["status", "--porcelain", "--untracked-files=all"]);
        assert!(!seen.contains("mail"), "{theirs:?}: {seen}");
    }
    let (root, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(root.path().join(".cmux")).unwrap();
    let list = out.path().join("list");
    fs::write(&list, "mine").unwrap();
    symlink(&list, root.path().join(".cmux/.gitignore")).unwrap();
    write(root.path(), id(1), b"body").unwrap();
    assert_eq!(fs::read_to_string(&list).unwrap(), "mine");
    assert_eq!(listed(&root, ".cmux/mail"), [".gitignore", &id(1).to_string()]);
}

#[test]
fn mail_is_swept_after_thirty_days_and_nothing_else_is() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(sweep(root.path(), clock::wall()).unwrap(), 0);
    for n in 1..=3 {
        write(root.path(), id(n), b"body").unwrap();
    }
    let mail = root.path().join(".cmux/mail");
    for name in [".new-x", "somebody's"] {
        fs::write(mail.join(name), "").unwrap();
    }
    let names = [".new-x", "somebody's", &id(1).to_string()];
    for name in names {
        let old = SystemTime::now() - KEEP - Duration::from_mins(1);
        fs::File::options().append(true).open(mail.join(name)).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(sweep(root.path(), clock::wall()).unwrap(), 2);
    assert_eq!(listed(&root, ".cmux/mail"), [&id(2).to_string(), &id(3).to_string(), "somebody's"]);
}

/// Checks that nothing is laid into a project that was made so, and why.
#[track_caller]
fn check_refused(make: impl Fn(&TempDir), why: &str) {
    let root = tempfile::tempdir().unwrap();
    make(&root);
    let refused = write(root.path(), id(1), b"body").unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
}

fn git(root: &TempDir, words: &[&str]) -> String {
    let ran = Command::new("git").arg("-C").arg(root.path()).args(words).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Returns the names in a folder, in order.
fn listed(root: &TempDir, folder: &str) -> Vec<String> {
    let names = fs::read_dir(root.path().join(folder)).unwrap();
    let mut names: Vec<String> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn id(n: usize) -> MessageId {
    format!("msg_{n:026}").parse().unwrap()
}
