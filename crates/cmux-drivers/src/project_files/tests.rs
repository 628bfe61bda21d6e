//! Repositories as whoever means harm would lay them out.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use tempfile::TempDir;

use super::*;

#[test]
fn what_is_there_is_found_with_its_digest() {
    let root = project();
    assert_eq!(read_all(root.path()), ProjectFiles::default());
    write(&root, ".cmux/config.toml", "name = 's3cret'");
    write(&root, ".cmux/roles/worker.md", "work");
    write(&root, ".cmux/roles/README.txt", "no role");
    write(&root, ".cmux/roles/Critic.md", "judge");
    let files = read_all(root.path());
    let names: Vec<String> = files.found.iter().map(|found| found.file.to_string()).collect();
    assert_eq!(names, [".cmux/config.toml", ".cmux/roles/Critic.md", ".cmux/roles/worker.md"]);
    assert_eq!(files.refused, [""; 0]);
    assert_eq!(files.digest(&ProjectFile::Config), Some(Digest::of(b"name = 's3cret'")));
    assert_eq!(files.digest(&ProjectFile::of_role("poet").unwrap()), None);
    assert_eq!(files.found[2].text, "work");
    assert!(!format!("{files:?}").contains("s3cret"));
}

#[test]
fn nothing_is_read_through_a_link() {
    let secret = tempfile::tempdir().unwrap();
    for name in ["config.toml", "worker.md"] {
        fs::write(secret.path().join(name), "s3cret").unwrap();
    }
    let secret = secret.path();
    for (target, link) in [
        (secret.join("config.toml"), ".cmux/config.toml"),
        (secret.join("worker.md"), ".cmux/roles/worker.md"),
        (secret.to_owned(), ".cmux/roles"),
        (secret.to_owned(), ".cmux"),
        // One that leads nowhere, to itself, or to another file of the project.
        ("/no/such/place".into(), ".cmux/config.toml"),
        ("config.toml".into(), ".cmux/config.toml"),
        ("../precious".into(), ".cmux/config.toml"),
    ] {
        let root = project();
        write(&root, "precious", "name = 'x'");
        let at = root.path().join(link);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(&target, &at).unwrap();
        check(&root, "it is a link");
    }
}

#[test]
fn what_is_no_short_plain_file_is_refused_at_once() {
    let file = ".cmux/config.toml";
    check_made(file, "it is not a file", |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    });
    check_made(file, "it is not a file", |path| fs::create_dir(path).unwrap());
    check_made(file, "", |path| drop(UnixListener::bind(path).unwrap()));
    check_made(file, "longer than 64 KiB", |path| {
        fs::write(path, vec![b'#'; CONFIG_MAX + 1]).unwrap();
    });
    check_made(file, "longer than 64 KiB", |path| {
        // A hole takes no room on the disk.
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    });
    check_made(file, ":2: it is not UTF-8 here", |path| fs::write(path, b"#\n\xff").unwrap());
    check_made(".cmux/roles/worker.md", "longer than 32 KiB", |path| {
        fs::write(path, vec![b'x'; role::TEXT_MAX + 1]).unwrap();
    });
}

#[test]
fn names_that_no_role_has_are_told_and_tell_nothing_to_a_terminal() {
    for name in [&b"a b.md"[..], b".md", b"\x1b[2J.md", b"a\xff.md", b"-rf.md"] {
        let root = project();
        fs::create_dir_all(root.path().join(".cmux/roles")).unwrap();
        let name = std::ffi::OsStr::from_bytes(name);
        fs::write(root.path().join(".cmux/roles").join(name), "x").unwrap();
        let files = read_all(root.path());
        assert!(files.found.is_empty(), "{files:?}");
        let [told] = &files.refused[..] else { panic!("{files:?}") };
        assert!(told.contains("no role can be called so"), "{told}");
        assert!(!told.contains(char::is_control), "{told:?}");
    }
}

#[test]
fn there_is_an_end_to_roles() {
    let root = project();
    for n in 0..=ROLES_MAX {
        write(&root, &format!(".cmux/roles/r{n}.md"), "x");
    }
    let files = read_all(root.path());
    assert_eq!(files.found.len(), ROLES_MAX);
    assert!(files.refused[0].contains("64 roles are enough"), "{files:?}");
}

#[test]
fn a_project_without_a_folder_of_ours_has_no_files() {
    let root = project();
    fs::write(root.path().join(".cmux"), "a file").unwrap();
    assert_eq!(read_all(root.path()), ProjectFiles::default());
    assert_eq!(read_all(Path::new("/no/such/place")), ProjectFiles::default());
    assert_eq!(read_all(&root.path().join(".cmux")), ProjectFiles::default());
}

/// Checks that a project in which `make` makes the file at `path` is refused for that reason.
#[track_caller]
fn check_made(path: &str, expected: &str, make: impl FnOnce(&Path)) {
    let root = project();
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    make(&path);
    check(&root, expected);
}

#[track_caller]
fn check(root: &TempDir, expected: &str) {
    let files = read_all(root.path());
    assert!(files.found.is_empty(), "{files:?}");
    let [told] = &files.refused[..] else { panic!("{files:?}") };
    assert!(told.contains(expected) && !told.contains("s3cret"), "{told}");
}

fn project() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn write(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
