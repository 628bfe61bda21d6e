//! The password by which the person is known from another machine.
//!
//! Only its hash is kept, in `$CMUX_HOME/password`. It is looked up each time, so a change holds at
//! once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use cmux_core::digest::Digest;

use crate::home::Home;
use crate::private::{self, PrivateError};

/// The shortest password that is taken, in characters.
pub const LENGTH_MIN: usize = 12;

/// The longest password that is taken, in bytes.
pub const BYTES_MAX: usize = 1024;

/// Why a password was not set or could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("the password must have at least {LENGTH_MIN} characters, and this has {length}")]
    TooShort { length: usize },
    #[error("the password must have at most {BYTES_MAX} bytes")]
    TooLong,
    #[error("the password must be one line, without control characters")]
    Control,
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("{} is damaged: it holds no password. `cmux password set` writes it anew", path.display())]
    Damaged { path: PathBuf },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("the password could not be hashed: {0}")]
    Hash(Error),
}

/// Sets the password of `home`, in place of any before.
pub fn set(home: &Home, password: &str) -> Result<(), PasswordError> {
    let length = password.chars().count();
    if length < LENGTH_MIN {
        return Err(PasswordError::TooShort { length });
    }
    if password.len() > BYTES_MAX {
        return Err(PasswordError::TooLong);
    }
    if password.chars().any(char::is_control) {
        return Err(PasswordError::Control);
    }
    let hash = Argon2::default().hash_password(password.as_bytes()).map_err(PasswordError::Hash)?;
    let path = home.password();
    let new = home.root().join("password.new");
    write(&new, &format!("{hash}\n"))
        .and_then(|()| fs::rename(&new, &path))
        .and_then(|()| settle(home))
        .map_err(|source| PasswordError::Unwritable { path, source })
}

/// Takes the password of `home` away, and returns whether there was one.
pub fn clear(home: &Home) -> Result<bool, PasswordError> {
    let path = home.password();
    match fs::remove_file(&path) {
        Err(error) if is_absent(&error) => return Ok(false),
        removed => removed,
    }
    .and_then(|()| settle(home))
    .map_err(|source| PasswordError::Unwritable { path, source })?;
    Ok(true)
}

/// Returns whether `home` has a password. One that is damaged, or that others can read, is an error.
pub fn is_set(home: &Home) -> Result<bool, PasswordError> {
    Ok(read(home)?.is_some())
}

/// Returns the digest of what is kept of the password of `home`, if it has one: another password, or the
/// same set again, has another.
pub fn digest(home: &Home) -> Result<Option<Digest>, PasswordError> {
    Ok(read(home)?.map(|hash| Digest::of(hash.to_string().as_bytes())))
}

/// Returns whether `password` is that of `home`. Without one, none is.
///
/// This takes a good part of a second of one core and 19 MiB on purpose: whoever calls it sees to it
/// that not many are compared at once, and that no request waits behind it.
pub fn verify(home: &Home, password: &str) -> Result<bool, PasswordError> {
    let Some(hash) = read(home)? else { return Ok(false) };
    if password.len() > BYTES_MAX {
        return Ok(false);
    }
    match Argon2::default().verify_password(password.as_bytes(), &hash) {
        Ok(()) => Ok(true),
        Err(Error::PasswordInvalid) => Ok(false),
        Err(_) => Err(PasswordError::Damaged { path: home.password() }),
    }
}

/// Returns the hash that is kept, if one is.
fn read(home: &Home) -> Result<Option<PasswordHash>, PasswordError> {
    let path = home.password();
    let text = match private::read(&path) {
        Err(error) if error.is_absent() => return Ok(None),
        text => text?,
    };
    let hash = PasswordHash::new(text.trim()).ok();
    // A hash without its salt or its digest would be compared with nothing.
    let whole = hash
        .filter(|it| it.algorithm.as_str() == "argon2id" && it.salt.is_some() && it.hash.is_some());
    whole.map(Some).ok_or(PasswordError::Damaged { path })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    // One that was left half written may be anybody's to read.
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Puts the names in `home` on the disk.
fn settle(home: &Home) -> io::Result<()> {
    File::open(home.root())?.sync_all()
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const PASSWORD: &str = "correct horse, battery";

    #[test]
    fn only_the_password_that_was_set_last_is_right() {
        let (_folder, home) = home();
        assert!(!is_set(&home).unwrap() && !verify(&home, "").unwrap());
        set(&home, "another one before").unwrap();
        set(&home, PASSWORD).unwrap();
        assert!(is_set(&home).unwrap());
        for (password, is_right) in [
            (PASSWORD, true),
            ("another one before", false),
            ("", false),
            (&PASSWORD[1..], false),
            (&format!("{PASSWORD} "), false),
            (&PASSWORD.repeat(100), false),
        ] {
            assert_eq!(verify(&home, password).unwrap(), is_right, "{password}");
        }
        assert!(clear(&home).unwrap() && !clear(&home).unwrap());
        assert!(!is_set(&home).unwrap() && !verify(&home, PASSWORD).unwrap());
    }

    #[test]
    fn only_a_hash_is_kept_and_only_for_its_owner() {
        let (_folder, home) = home();
        // Left by a start that was killed, for everybody to read.
        fs::write(home.root().join("password.new"), "x").unwrap();
        set(&home, PASSWORD).unwrap();
        let kept = fs::read_to_string(home.password()).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=") && !kept.contains(PASSWORD), "{kept}");
        assert_eq!(fs::metadata(home.password()).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!home.root().join("password.new").exists());
        set(&home, PASSWORD).unwrap();
        assert_ne!(fs::read_to_string(home.password()).unwrap(), kept, "salts differ");
    }

    #[test]
    fn a_password_that_is_none_is_refused_and_the_one_before_holds() {
        let (_folder, home) = home();
        set(&home, PASSWORD).unwrap();
        for (password, expected) in [
            ("", "at least 12 characters, and this has 0"),
            ("eleven char", "at least 12 characters, and this has 11"),
            ("ääääääääääå", "at least 12 characters, and this has 11"),
            ("twelve chars\n", "one line, without control characters"),
            (&"x".repeat(BYTES_MAX + 1), "at most 1024 bytes"),
        ] {
            let refused = set(&home, password).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
        assert!(verify(&home, PASSWORD).unwrap());
    }

    #[test]
    fn a_file_that_is_damaged_or_shared_lets_nobody_in() {
        let (_folder, home) = home();
        set(&home, PASSWORD).unwrap();
        let whole = fs::read_to_string(home.password()).unwrap();
        let without_digest = whole.rsplit_once('$').unwrap().0;
        for text in ["", "x", without_digest, &whole.replace("argon2id", "argon2i")] {
            fs::write(home.password(), text).unwrap();
            let told = verify(&home, PASSWORD).unwrap_err().to_string();
            assert!(told.contains("is damaged") && told.contains("`cmux password set`"), "{told}");
            assert!(is_set(&home).is_err());
        }
        fs::write(home.password(), whole).unwrap();
        fs::set_permissions(home.password(), Permissions::from_mode(0o644)).unwrap();
        let told = verify(&home, PASSWORD).unwrap_err().to_string();
        assert!(told.contains("chmod 600"), "{told}");
    }

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        home.prepare().unwrap();
        (folder, home)
    }
}
