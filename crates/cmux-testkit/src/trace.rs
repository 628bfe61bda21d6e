//! What a daemon did to its store and told its clients, in the order in which strace saw it.
//!
//! strace stops a thread before each call and after it, and writes down these stops in their order. So a
//! call happens somewhere between its two moments, and what another thread does because of it comes
//! later: a call counts as done from its end only, and what is told counts as told from its beginning.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::home::TestHome;

/// Every call that can change a file, put it on the disk, or tell somebody something. Those that are
/// not understood are here to be noticed. Not every machine has all of them, hence the `?`.
const CALLS: &str = "trace=?open,?openat,?openat2,?creat,?write,?writev,?pwrite64,?pwritev,?pwritev2,\
    ?sendto,?sendmsg,?sendmmsg,?fsync,?fdatasync,?sync,?syncfs,?sync_file_range,?msync,?mmap,\
    ?truncate,?ftruncate,?fallocate,?copy_file_range,?sendfile,?splice,?rename,?renameat,?renameat2,\
    ?unlink,?unlinkat,?link,?linkat,?symlink,?symlinkat,?mkdir,?mkdirat,?io_uring_setup,?io_submit";

/// The longest text that strace writes down whole, in bytes.
const TEXT_MAX: &str = "1048576";

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A file or a name was changed, for as long as the machine runs.
    Changed(Change),
    /// A thread asked for something to be put on the disk.
    SyncBegun { thread: u32, target: Target },
    /// It is there: all of it that was so when the thread asked.
    Synced { thread: u32, target: Target },
    /// Somebody is about to be told this.
    Telling(Vec<u8>),
}

/// A change of a file of the store, which is named within its home, or of the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The home is there from now on.
    MakeHome,
    /// It is there from now on, if it was not.
    Make {
        file: String,
    },
    Write {
        file: String,
        at: usize,
        bytes: Vec<u8>,
    },
    /// It is so long from now on.
    Cut {
        file: String,
        length: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        file: String,
    },
}

/// What can be put on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    File(String),
    /// The home, which is to say its files' names.
    Home,
    /// The folder that the home is in, and with it the home's own name.
    Above,
}

/// Returns a way to run a daemon in `home` under strace, which writes to `file`.
pub fn traced_daemon(home: &TestHome, file: &Path) -> Command {
    let found = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "strace cannot be run: `make test` installs it before it runs the tests"
    );
    let mut command = Command::new("strace");
    home.equip(&mut command);
    command.args(["-f", "-y", "-xx", "-s", TEXT_MAX, "-e", CALLS, "-e", "signal=none", "-o"]);
    command.arg(file).arg(home.program()).args(["daemon", "run"]);
    command
}

/// Reads what strace wrote to `file` of a daemon in `home`.
pub fn read(file: &Path, home: &Path) -> Vec<Moment> {
    // strace tells some paths as the program named them, and some as the kernel does.
    let homes = vec![home.to_owned(), fs::canonicalize(home).unwrap()];
    parse(&fs::read_to_string(file).unwrap(), homes)
}

fn parse(text: &str, homes: Vec<PathBuf>) -> Vec<Moment> {
    let mut reading = Reading { homes, unfinished: HashMap::new(), moments: Vec::new() };
    for line in text.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        reading.take(thread.parse().unwrap(), rest.trim_start());
    }
    reading.moments
}

/// A trace, being read.
struct Reading {
    homes: Vec<PathBuf>,
    /// What each thread has begun and not yet ended.
    unfinished: HashMap<u32, String>,
    moments: Vec<Moment>,
}

/// A call as it stands in the trace. What it returned is known only at its end.
#[derive(Clone, Copy)]
struct Call<'a> {
    thread: u32,
    name: &'a str,
    arguments: &'a str,
}

impl Reading {
    fn take(&mut self, thread: u32, rest: &str) {
        if rest.starts_with("+++") || rest.starts_with("---") {
            return;
        }
        // The kill comes between a call's beginning and its end, or even before strace knows which it is.
        let begun =
            [" <unfinished ...>", " <detached ...>"].iter().find_map(|it| rest.strip_suffix(it));
        if let Some(begun) = begun {
            self.begin(call(thread, begun));
            assert_eq!(self.unfinished.insert(thread, begun.to_owned()), None, "{begun}");
        } else if rest.starts_with("<... ") {
            let (_, end) = rest.split_once(" resumed>").unwrap();
            let whole = self.unfinished.remove(&thread).unwrap() + end;
            self.end(&whole, thread);
        } else {
            let Some((begun, _)) = rest.rsplit_once(" = ") else {
                panic!("{} is not understood", readable(rest));
            };
            self.begin(call(thread, begun));
            self.end(rest, thread);
        }
    }

    /// Notes what counts from a call's beginning.
    fn begin(&mut self, call: Call<'_>) {
        match call.name {
            "fsync" | "fdatasync" => {
                let target = self.target(call);
                let begun = target.map(|target| Moment::SyncBegun { thread: call.thread, target });
                self.moments.extend(begun);
            }
            "write" | "writev" | "sendto" | "sendmsg" if is_socket(call.arguments) => {
                self.moments.push(Moment::Telling(texts(call.arguments).concat()));
            }
            _ => {}
        }
    }

    /// Notes what counts from a call's end, unless it failed or was cut short by the kill.
    fn end(&mut self, text: &str, thread: u32) {
        let (begun, result) = text.rsplit_once(" = ").unwrap();
        if result.starts_with(['-', '?']) {
            return;
        }
        let call = call(thread, begun);
        if let "fsync" | "fdatasync" = call.name {
            let synced = self.target(call).map(|target| Moment::Synced { thread, target });
            self.moments.extend(synced);
            return;
        }
        let changes = self.changes(call, result);
        self.moments.extend(changes.into_iter().map(Moment::Changed));
    }

    /// Returns what a call that ended well has changed. Panics if it cannot know.
    fn changes(&self, call: Call<'_>, result: &str) -> Vec<Change> {
        let arguments = call.arguments;
        let opened = descriptions(arguments).iter().find_map(|path| self.file(path));
        match (call.name, opened) {
            ("open" | "openat" | "creat", _) => self.opening(call, result),
            ("pwrite64", Some(file)) => vec![write(file, arguments, result)],
            ("ftruncate", Some(file)) => vec![Change::Cut { file, length: number(arguments, 1) }],
            ("mmap", Some(_)) if !is_shared_writable(arguments) => Vec::new(),
            ("unlink" | "unlinkat", _) => {
                let names = self.names(arguments).into_iter().flatten();
                names.map(|file| Change::Remove { file }).collect()
            }
            ("renameat2", _) if arguments.contains("RENAME_EXCHANGE") => unknown(call),
            ("rename" | "renameat" | "renameat2", _) => match self.names(arguments).as_slice() {
                [Some(from), Some(to)] => {
                    vec![Change::Rename { from: from.clone(), to: to.clone() }]
                }
                [None, None] => Vec::new(),
                _ => unknown(call),
            },
            ("mkdir" | "mkdirat", _) => {
                let is_home = texts(arguments).iter().any(|path| self.is_home(path));
                is_home.then_some(Change::MakeHome).into_iter().collect()
            }
            ("truncate" | "link" | "linkat" | "symlink" | "symlinkat", _) => {
                let is_ours = self.names(arguments).iter().any(Option::is_some);
                if is_ours { unknown(call) } else { Vec::new() }
            }
            ("io_uring_setup" | "io_submit" | "sync" | "syncfs", _) | (_, Some(_)) => unknown(call),
            (_, None) => Vec::new(),
        }
    }

    fn opening(&self, call: Call<'_>, result: &str) -> Vec<Change> {
        let opened = descriptions(result).iter().find_map(|path| self.file(path));
        let Some(file) = opened else { return Vec::new() };
        let (creates, cuts) = match call.name {
            "creat" => (true, true),
            _ => (call.arguments.contains("O_CREAT"), call.arguments.contains("O_TRUNC")),
        };
        let make = creates.then(|| Change::Make { file: file.clone() });
        let cut = cuts.then_some(Change::Cut { file, length: 0 });
        make.into_iter().chain(cut).collect()
    }

    /// Returns what a sync is of, if that concerns the store.
    fn target(&self, call: Call<'_>) -> Option<Target> {
        let path = descriptions(call.arguments).into_iter().next()?;
        if self.is_home(&path) {
            return Some(Target::Home);
        }
        if self.homes.iter().any(|home| home.parent().is_some_and(|above| is_at(&path, above))) {
            return Some(Target::Above);
        }
        self.file(&path).map(Target::File)
    }

    fn is_home(&self, path: &[u8]) -> bool {
        self.homes.iter().any(|home| is_at(path, home))
    }

    /// Returns which of the store's files the paths in `arguments` name.
    fn names(&self, arguments: &str) -> Vec<Option<String>> {
        let named = texts(arguments).into_iter().map(|path| {
            let is_clear = path.starts_with(b"/") || !is_database(&path);
            assert!(is_clear, "where is {}?", readable(arguments));
            self.file(&path)
        });
        named.collect()
    }

    /// Returns the name of the store's file at `path`, if it is one. What lies in memory that processes
    /// share is not: it is made again from the others.
    fn file(&self, path: &[u8]) -> Option<String> {
        let path = Path::new(std::str::from_utf8(path).ok()?);
        let name = self.homes.iter().find_map(|home| path.strip_prefix(home).ok())?.to_str()?;
        (name.starts_with("cmux.db") && name != "cmux.db-shm").then(|| name.to_owned())
    }
}

/// Takes a call apart.
fn call(thread: u32, text: &str) -> Call<'_> {
    let (name, arguments) = text.split_once('(').unwrap();
    Call { thread, name, arguments }
}

/// A call that nobody has taught this reader would make all that follows from it wrong.
fn unknown(call: Call<'_>) -> ! {
    panic!("{}({}) is not understood", call.name, readable(call.arguments));
}

fn write(file: String, arguments: &str, result: &str) -> Change {
    let mut bytes = texts(arguments).concat();
    assert_eq!(bytes.len(), number(arguments, 2), "a text was cut short");
    bytes.truncate(result.parse().unwrap());
    Change::Write { file, at: number(arguments, 3), bytes }
}

/// Returns the number in the given place. No text has a comma in it: each byte is written as `\xNN`.
fn number(arguments: &str, place: usize) -> usize {
    let argument = arguments.split(", ").nth(place).unwrap();
    argument.trim_end().trim_end_matches(')').parse().unwrap()
}

fn is_socket(arguments: &str) -> bool {
    descriptions(arguments).first().is_some_and(|path| path.starts_with(b"socket:"))
}

fn is_shared_writable(arguments: &str) -> bool {
    arguments.contains("MAP_SHARED") && arguments.contains("PROT_WRITE")
}

/// Returns what each open file in `text` is, as in `14<\x2f\x61>`.
fn descriptions(text: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for piece in text.split('<').skip(1) {
        let Some((path, rest)) = piece.split_once('>') else { continue };
        let path = unescape(path);
        let is_gone = rest.starts_with("(deleted)");
        assert!(!is_gone || !is_database(&path), "a file without a name: {text}");
        found.push(path);
    }
    found
}

/// Returns whether `path` is about a database of cmux's, wherever it is.
fn is_database(path: &[u8]) -> bool {
    path.windows(7).any(|part| part == b"cmux.db")
}

fn is_at(path: &[u8], place: &Path) -> bool {
    place.as_os_str().as_encoded_bytes() == path
}

/// Returns all texts in quotes.
fn texts(arguments: &str) -> Vec<Vec<u8>> {
    let quoted = arguments.split('"').skip(1).step_by(2);
    quoted.map(unescape).collect()
}

/// Returns the bytes that `\xNN` stand for.
fn unescape(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len() / 4), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        if let [b'\\', b'x', high, low, after @ ..] = rest {
            bytes.push(digit(*high) << 4 | digit(*low));
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    bytes
}

fn readable(text: &str) -> String {
    String::from_utf8_lossy(&unescape(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_apart_by_what_it_is_done_to() {
        let wal = || "cmux.db-wal".to_owned();
        check(
            "openat(AT_FDCWD</>, \"/h/cmux.db-wal\", O_RDWR|O_CREAT, 0644) = 9</h/cmux.db-wal>",
            &[Moment::Changed(Change::Make { file: wal() })],
        );
        check("openat(AT_FDCWD</>, \"/h/cmux.db-wal\", O_RDWR) = 9</h/cmux.db-wal>", &[]);
        check("openat(AT_FDCWD</>, \"/h/cmux.db-wal\", O_CREAT) = -1 EACCES (Denied)", &[]);
        check(
            "pwrite64(9</h/cmux.db-wal>, \"\\x00\\x2c\", 2, 4096) = 2",
            &[Moment::Changed(Change::Write { file: wal(), at: 4096, bytes: vec![0, 44] })],
        );
        check("pwrite64(9</h/cmux.db-shm>, \"\\x00\", 1, 0) = 1", &[]);
        check("pwrite64(9</other/cmux.db-wal>, \"\\x00\", 1, 0) = 1", &[]);
        check(
            "ftruncate(9</h/cmux.db-wal>, 32) = 0",
            &[Moment::Changed(Change::Cut { file: wal(), length: 32 })],
        );
        check("mkdir(\"/h\", 0700) = 0", &[Moment::Changed(Change::MakeHome)]);
        check("unlink(\"/h/cmux.db-wal\") = 0", &[Moment::Changed(Change::Remove { file: wal() })]);
        check(
            "rename(\"/h/cmux.db-wal\", \"/h/cmux.db\") = 0",
            &[Moment::Changed(Change::Rename { from: wal(), to: "cmux.db".to_owned() })],
        );
        check("mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 9</h/cmux.db-shm>, 0) = 0x7", &[]);
        check(
            "writev(9<socket:[1]>, [{iov_base=\"\\x41\", iov_len=1}, {iov_base=\"\\x42\"}], 2) = 2",
            &[Moment::Telling(b"AB".to_vec())],
        );
        check("write(2</h/logs/x>, \"\\x41\", 1) = 1", &[]);
    }

    #[test]
    fn a_sync_has_a_beginning_and_an_end_and_a_failed_one_has_no_end() {
        let begun = Moment::SyncBegun { thread: 7, target: Target::Home };
        let synced = Moment::Synced { thread: 7, target: Target::Home };
        check("fsync(9</h>) = 0", &[begun.clone(), synced]);
        check("fsync(9</h>) = -1 EIO (Input/output error)", &[begun]);
    }

    #[test]
    fn what_threads_do_at_once_is_taken_apart() {
        let text = "7     fsync(9</h/cmux.db> <unfinished ...>\n\
                    8 writev(5<socket:[1]>, [{iov_base=\"A\", iov_len=1}], 1 <unfinished ...>\n\
                    7     <... fsync resumed>)              = 0\n\
                    8 +++ killed by SIGKILL +++\n\
                    9 ???( <detached ...>\n";
        let target = || Target::File("cmux.db".to_owned());
        let expected = [
            Moment::SyncBegun { thread: 7, target: target() },
            Moment::Telling(b"A".to_vec()),
            Moment::Synced { thread: 7, target: target() },
        ];
        assert_eq!(parse(text, vec!["/h".into()]), expected);
    }

    #[test]
    fn what_is_not_understood_is_not_passed_over() {
        for call in [
            "write(9</h/cmux.db>, \"\\x00\", 1) = 1",
            "fallocate(9</h/cmux.db>, 0, 0, 4096) = 0",
            "mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 9</h/cmux.db>, 0) = 0x7",
            "rename(\"/elsewhere\", \"/h/cmux.db\") = 0",
            "renameat2(3</>, \"/h/cmux.db\", 3</>, \"/h/cmux.db-wal\", RENAME_EXCHANGE) = 0",
            "unlinkat(3</h>, \"cmux.db\", 0) = 0",
            "pwrite64(9</h/cmux.db>(deleted), \"\\x00\", 1, 0) = 1",
            "io_uring_setup(8, 0) = 3",
            "pwrite64(9</h/cmux.db>, \"\\x00\", 1, 0",
        ] {
            let read = std::panic::catch_unwind(|| parse(&format!("7 {call}"), vec!["/h".into()]));
            assert!(read.is_err(), "{call}: {read:?}");
        }
    }

    /// Checks what a call of thread 7 comes to, in the home `/h`.
    #[track_caller]
    fn check(call: &str, expected: &[Moment]) {
        assert_eq!(parse(&format!("7 {call}"), vec!["/h".into()]), expected, "{call}");
    }
}
