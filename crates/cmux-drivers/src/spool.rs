//! The spool: what hooks had to tell while no daemon could be told, until one takes it.
//!
//! Each entry is a file of its own, which gets its name once all of it is on the disk. So entries do not
//! meet, however many are written at once, and one that was cut off by a crash is none. Names sort by when
//! the hooks were called. An entry is removed after it was stored; if that is cut off, it is taken again,
//! and known again by its id.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cmux_core::digest::Digest;
use cmux_core::id::HookId;
use rustix::fs::OFlags;

/// How many entries there may be, and how many bytes in all. What comes then is lost.
const ENTRIES_MAX: usize = 4096;
const BYTES_MAX: u64 = 64 << 20;

/// The longest entry, in bytes.
pub const ENTRY_MAX: usize = 8 << 20;

/// How many entries are kept that nobody could read.
const ASIDE_MAX: usize = 256;

/// How old what was not finished must be for whoever wrote it to be gone.
const UNFINISHED_AFTER: Duration = Duration::from_mins(5);

/// What the first line of an entry begins with.
const FIRST: &str = "cmux-hook 1 ";

const ENDING: &str = ".json";
const UNFINISHED: &str = ".new-";

/// A folder of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spool {
    folder: PathBuf,
}

/// What is in the spool, named and not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: HookId,
    path: PathBuf,
}

/// What an entry says: who calls, in which boot of the machine, and what they have to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The digest of what the caller would have shown, which nobody can show who has only this.
    pub by: Digest,
    /// What tells that boot from others, if it is known.
    pub boot: Option<String>,
    pub body: String,
}

/// Why an entry was not written.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("the spool is full: {0} entries wait for a daemon; `cmux daemon start` starts one")]
    Full(usize),
    #[error("the entry is longer than {} MiB", ENTRY_MAX >> 20)]
    TooLong,
    #[error("the spool cannot be written: {0}")]
    File(#[from] io::Error),
}

impl Letter {
    /// Returns it as it is on the disk: a line that says who calls, and what they tell.
    fn written(&self) -> String {
        let boot = self.boot.as_deref().unwrap_or("-");
        format!("{FIRST}{} {boot}\n{}", self.by.hex(), self.body)
    }

    fn parse(text: &str) -> Option<Letter> {
        let (first, body) = text.strip_prefix(FIRST)?.split_once('\n')?;
        let (by, boot) = first.split_once(' ')?;
        let boot = Some(boot.to_owned()).filter(|boot| boot != "-");
        Some(Letter { by: digest(by)?, boot, body: body.to_owned() })
    }
}

/// Returns the digest that is written in hexadecimal.
fn digest(hex: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if hex.len() != 2 * bytes.len() || !hex.is_ascii() {
        return None;
    }
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

impl Spool {
    /// Names the spool in `folder`, whether or not it is there.
    pub fn at(folder: PathBuf) -> Spool {
        Spool { folder }
    }

    /// Puts an entry on the disk. When this returns, a power cut does not lose it.
    pub fn append(&self, id: HookId, letter: &Letter) -> Result<(), SpoolError> {
        let entry = letter.written();
        if entry.len() > ENTRY_MAX {
            return Err(SpoolError::TooLong);
        }
        // A home that is gone is not made again.
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        self.require_room()?;
        let new = self.folder.join(format!("{UNFINISHED}{id}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(entry.as_bytes()).and_then(|()| file.sync_all());
        let named =
            written.and_then(|()| fs::rename(&new, self.folder.join(format!("{id}{ENDING}"))));
        if let Err(error) = named {
            let _ = fs::remove_file(&new);
            return Err(error.into());
        }
        Ok(self.settle()?)
    }

    /// Returns the entries there are, the oldest first, `max` at most. A spool that is not there has none.
    pub fn entries(&self, max: usize) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for path in self.files()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match name.strip_suffix(ENDING).and_then(|id| id.parse().ok()) {
                Some(id) => entries.push(Entry { id, path }),
                None if name.starts_with(UNFINISHED) => sweep(&path),
                None => {}
            }
        }
        entries.sort_by_key(|entry| entry.id);
        entries.truncate(max);
        Ok(entries)
    }

    /// Returns what an entry says: nothing if it is gone, and an error if it makes no sense.
    pub fn read(&self, entry: &Entry) -> io::Result<Option<Letter>> {
        // To open a pipe would wait for whoever writes to it, and a link may lead anywhere.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&entry.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is not a file"));
        }
        let mut text = String::new();
        file.take(ENTRY_MAX as u64).read_to_string(&mut text)?;
        let damaged = || io::Error::new(ErrorKind::InvalidData, "it is not what cmux writes");
        Letter::parse(&text).map(Some).ok_or_else(damaged)
    }

    /// Removes an entry that was stored.
    pub fn remove(&self, entry: &Entry) -> io::Result<()> {
        match fs::remove_file(&entry.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Puts an entry that nobody can take where a person may look at it. Only the newest of them stay.
    pub fn set_aside(&self, entry: &Entry) -> io::Result<()> {
        let aside = self.folder.join("aside");
        DirBuilder::new().recursive(true).mode(0o700).create(&aside)?;
        fs::rename(&entry.path, aside.join(format!("{}{ENDING}", entry.id)))?;
        let mut kept: Vec<PathBuf> = Spool::at(aside).files()?;
        kept.sort();
        let many = kept.len().saturating_sub(ASIDE_MAX);
        kept.iter().take(many).try_for_each(fs::remove_file)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let found = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            found => found?,
        };
        found.map(|entry| entry.map(|it| it.path())).collect()
    }

    fn require_room(&self) -> Result<(), SpoolError> {
        let files = self.files()?;
        let bytes = || files.iter().filter_map(|it| fs::metadata(it).ok()).map(|it| it.len());
        match files.len() < ENTRIES_MAX && bytes().sum::<u64>() < BYTES_MAX {
            true => Ok(()),
            false => Err(SpoolError::Full(files.len())),
        }
    }

    /// Puts the names in the folder on the disk.
    fn settle(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

/// Removes what somebody began to write and did not finish.
fn sweep(path: &Path) {
    let written = fs::metadata(path).and_then(|it| it.modified());
    let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    if age.is_some_and(|age| age > UNFINISHED_AFTER) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use super::*;

    #[test]
    fn entries_are_taken_in_the_order_of_their_hooks_and_removed_once_stored() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().join("spool"));
        assert_eq!(spool.entries(10).unwrap(), []);
        for n in [2, 1, 3] {
            spool.append(id(n), &letter(&n.to_string())).unwrap();
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let entries = spool.entries(10).unwrap();
        assert_eq!(entries.iter().map(|it| it.id).collect::<Vec<_>>(), [id(1), id(2), id(3)]);
        assert_eq!((mode(&spool.folder), mode(&entries[0].path)), (0o700, 0o600));
        assert_eq!(spool.entries(1).unwrap(), entries[..1]);
        assert_eq!(spool.read(&entries[0]).unwrap(), Some(letter("1")));
        for _ in 0..2 {
            spool.remove(&entries[0]).unwrap();
            assert_eq!(spool.read(&entries[0]).unwrap(), None);
        }
        spool.set_aside(&entries[1]).unwrap();
        assert_eq!(spool.entries(10).unwrap(), entries[2..]);
        assert!(spool.folder.join(format!("aside/{}.json", id(2))).exists());
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().join("spool"));
        thread::scope(|scope| {
            for n in 0..64 {
                let spool = &spool;
                scope.spawn(move || spool.append(id(n), &letter(&"x".repeat(9_000))).unwrap());
            }
        });
        let entries = spool.entries(100).unwrap();
        assert_eq!(entries.len(), 64);
        assert!(entries.iter().all(|it| spool.read(it).unwrap().unwrap().body.len() == 9_000));
    }

    #[test]
    fn what_was_not_finished_is_no_entry_and_goes_when_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().to_owned());
        let (fresh, old) = (folder.path().join(".new-a"), folder.path().join(".new-b"));
        fs::write(&fresh, "{").unwrap();
        fs::write(&old, "{").unwrap();
        let then = SystemTime::now() - UNFINISHED_AFTER * 2;
        File::options().write(true).open(&old).unwrap().set_modified(then).unwrap();
        fs::write(folder.path().join("x.json"), "{").unwrap();
        assert_eq!(spool.entries(10).unwrap(), []);
        assert_eq!((fresh.exists(), old.exists()), (true, false));
    }

    #[test]
    fn a_home_that_is_gone_is_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        assert!(Spool::at(home.join("spool")).append(id(1), &letter("{}")).is_err());
        assert!(!home.exists());
    }

    #[test]
    fn a_spool_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().to_owned());
        let long = letter(&"x".repeat(ENTRY_MAX));
        assert!(matches!(spool.append(id(1), &long), Err(SpoolError::TooLong)));
        for n in 0..ENTRIES_MAX {
            fs::write(folder.path().join(format!("{n}.json")), "").unwrap();
        }
        let full = spool.append(id(1), &letter("{}")).unwrap_err();
        assert!(full.to_string().contains("4096 entries wait for a daemon"), "{full}");
    }

    #[test]
    fn what_cmux_did_not_write_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().to_owned());
        let right = letter("{}\n{").written();
        let (by, path) = (Digest::of(b"x").hex(), folder.path().join(format!("{}.json", id(1))));
        for (text, is_read) in [
            (right.clone(), true),
            (right.replace("boot", "-"), true),
            (right.replacen("cmux-hook 1", "cmux-hook 2", 1), false),
            (right.replace(&by, &by[1..]), false),
            (right.replace(&by, &"é".repeat(32)), false),
            (right.replace(&by, &"z".repeat(64)), false),
            (right[..40].to_owned(), false),
            (String::new(), false),
        ] {
            fs::write(&path, &text).unwrap();
            let read = spool.read(&spool.entries(1).unwrap()[0]);
            assert_eq!(read.is_ok(), is_read, "{text}");
        }
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(spool.read(&spool.entries(1).unwrap()[0]).is_err());
    }

    fn letter(body: &str) -> Letter {
        Letter { by: Digest::of(b"x"), boot: Some("boot".to_owned()), body: body.to_owned() }
    }

    fn id(n: u128) -> HookId {
        format!("hk_{n:026}").parse().unwrap()
    }
}
