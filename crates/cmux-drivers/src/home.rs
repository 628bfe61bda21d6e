//! `$CMUX_HOME`: where everything that cmux keeps is kept.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk;

/// The longest path that the kernel takes for a socket, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// The folder of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why a folder cannot be a home.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error(
        "{} is too long for a socket: the kernel takes {SOCKET_PATH_MAX} bytes, and this has {bytes}. \
         Choose a shorter CMUX_HOME",
        path.display()
    )]
    TooLong { path: PathBuf, bytes: usize },
    #[error("{} cannot be used: {why}. Choose a CMUX_HOME on a local disk", path.display())]
    Networked { path: PathBuf, why: String },
    #[error("{} cannot be used: {source}", path.display())]
    Unusable { path: PathBuf, source: io::Error },
}

impl Home {
    /// Names the home at `root`, whether or not it is there.
    pub fn at(root: PathBuf) -> Home {
        Home { root }
    }

    /// Checks that the home can be used, as far as that can be seen without changing anything.
    pub fn inspect(&self) -> Result<(), HomeError> {
        let socket = self.socket();
        let bytes = socket.as_os_str().as_bytes().len();
        if bytes > SOCKET_PATH_MAX {
            return Err(HomeError::TooLong { path: socket, bytes });
        }
        let unusable = |why: &str| HomeError::Unusable {
            path: self.root.clone(),
            source: io::Error::other(why),
        };
        if !self.root.exists() {
            return Ok(());
        }
        if !self.root.is_dir() {
            return Err(unusable("it is not a folder"));
        }
        // Somebody's own folder, named by mistake, must not be shut to everybody else.
        let has = |name: &str| self.root.join(name).exists();
        let is_empty = fs::read_dir(&self.root).is_ok_and(|mut it| it.next().is_none());
        if !is_empty
            && !["cmux.db", "cmux.lock", "config.toml", "guard.lock", "logs", "backups", "spool"]
                .into_iter()
                .any(has)
        {
            return Err(unusable("there are files in it, and none of them is cmux's"));
        }
        Ok(())
    }

    /// Makes the home if it is not there, for nobody else to read, and checks that it can be used.
    pub fn prepare(&self) -> Result<(), HomeError> {
        self.inspect()?;
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        let missing: Vec<&Path> = self.root.ancestors().take_while(|it| !it.exists()).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.root).map_err(unusable)?;
        if let Some(why) = disk::kind(&self.root).and_then(|kind| cmux_core::disk::refuses(&kind)) {
            if !missing.is_empty() {
                let _ = fs::remove_dir(&self.root);
            }
            return Err(HomeError::Networked { path: self.root.clone(), why });
        }
        fs::set_permissions(&self.root, Permissions::from_mode(0o700)).map_err(unusable)?;
        // A store in a home whose name is lost in a power cut would be lost with it. The home's own is
        // put on the disk at each start, since the one that made it may have been killed before.
        for made in missing.iter().copied().chain([self.root()]) {
            settle_name(made);
        }
        // The logs come first: by them another start that looks meanwhile knows the home for cmux's.
        for folder in [self.logs(), self.backups()] {
            // A folder that cannot be made is told when it is needed: logs may be lost, mail may not.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        Ok(())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("cmux.db")
    }

    /// What was written lately, and is not in the database itself yet.
    pub fn write_ahead_log(&self) -> PathBuf {
        self.root.join("cmux.db-wal")
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("cmux.sock")
    }

    /// Held by the daemon while it lives.
    pub fn lock(&self) -> PathBuf {
        self.root.join("cmux.lock")
    }

    /// Held by the guard while it lives.
    pub fn guard_lock(&self) -> PathBuf {
        self.root.join("guard.lock")
    }

    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// What hooks had to tell while no daemon could be told.
    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// Where the tickets of what is being typed lie.
    pub fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    /// Held by whoever types to one life of an agent.
    pub fn typing_lock(&self, run: &str) -> PathBuf {
        self.run(run).join("typing.lock")
    }

    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What the guarded daemon says to nobody in particular.
    pub fn log_file(&self) -> PathBuf {
        self.logs().join("daemon.log")
    }

    /// Returns the folder of the user's manifests.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// Returns the folder of the tmux servers that agents live in.
    pub fn tmux(&self) -> PathBuf {
        self.root.join("tmux")
    }

    /// Returns the folder in which agents find cmux itself.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Returns the folder of what is written for one life of an agent.
    pub fn run(&self, run: &str) -> PathBuf {
        self.root.join("runs").join(run)
    }

    /// Returns the folder of what a CLI keeps for one agent from life to life.
    pub fn agent_state(&self, agent: &str) -> PathBuf {
        self.root.join("agents-state").join(agent)
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The hash of the password, if one is set.
    pub fn password(&self) -> PathBuf {
        self.root.join("password")
    }

    /// Room that is kept free for cleaning up a full disk.
    pub fn ballast(&self) -> PathBuf {
        self.root.join("ballast")
    }
}

/// Puts the name of the folder at `path` on the disk, as far as that can be done.
fn settle_name(path: &Path) {
    // What may not be read cannot be synced, and is no reason not to start.
    let _ = path.parent().map(|above| File::open(above).and_then(|above| above.sync_all()));
}

/// Returns where the home is if nobody says: `$XDG_STATE_HOME/cmux`, or what stands for it.
pub fn default_root(xdg_state_home: Option<&Path>, user_home: Option<&Path>) -> Option<PathBuf> {
    match (xdg_state_home.filter(|path| path.is_absolute()), user_home) {
        (Some(state), _) => Some(state.join("cmux")),
        (None, Some(home)) => Some(home.join(".local/state/cmux")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_made_for_nobody_else_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("a/b"));
        home.prepare().unwrap();
        assert_eq!(fs::metadata(home.root()).unwrap().permissions().mode() & 0o777, 0o700);
        home.prepare().unwrap();
    }

    #[test]
    fn a_folder_of_somebody_elses_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("precious"), "x").unwrap();
        let home = Home::at(folder.path().to_owned());
        assert!(home.inspect().is_err() && home.prepare().is_err());
        assert_eq!(fs::metadata(home.root()).unwrap().permissions().mode() & 0o777, 0o755);
        fs::write(home.config(), "").unwrap();
        home.prepare().unwrap();
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_explained_and_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("x".repeat(120));
        let refused = Home::at(root.clone()).prepare().unwrap_err().to_string();
        assert!(refused.contains("too long for a socket"), "{refused}");
        assert!(!root.exists());
    }

    #[test]
    fn the_default_follows_the_conventions() {
        let (state, home) = (Path::new("/s"), Path::new("/h"));
        assert_eq!(default_root(Some(state), Some(home)), Some("/s/cmux".into()));
        assert_eq!(
            default_root(Some(Path::new("x")), Some(home)),
            Some("/h/.local/state/cmux".into())
        );
        assert_eq!(default_root(None, None), None);
    }
}
