//! The configuration of cmux's own tmux servers. A person's changes nothing in them.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::TmuxError;

/// What a server reads when it starts. What an older tmux does not know, it passes over (`-q`).
///
/// The size of windows is not `manual` for all: tmux 3.3a dies of it when it makes a session.
const TEXT: &str = r#"# Written by cmux, and written anew whenever it starts a server.

# The server stays when nobody is attached and nobody lives in it.
set -s exit-empty off
set -s exit-unattached off
set -g destroy-unattached off

# A pane stays when its program has ended, and tells how it ended.
set -g remain-on-exit on

# By this the server tells what time it is: see the guarded steps.
set -s @now '%s'

# Nothing of the environment of whoever attaches gets in.
set -g update-environment ""

# Commands may hold secrets, and are not kept.
set -s message-limit 0

# Programs have the keys as they are typed, and a screen that nothing is taken from.
set -s escape-time 0
set -s focus-events off
set -g status off
set -g mouse off
set -g prefix C-b
set -g prefix2 None
set -g base-index 0
set -g pane-base-index 0
set -g default-shell /bin/sh
set -g default-command ""
set -s default-terminal "tmux-256color"
set -g default-size 200x50
set -g window-size latest
set -g aggressive-resize off
set -g history-limit 5000
set -s buffer-limit 50

# What programs write changes nothing but their own pane.
set -s set-clipboard off
set -gq allow-passthrough off
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g bell-action none
set -g activity-action none
set -g silence-action none
set -g monitor-activity off
set -g monitor-bell off
set -g visual-bell off
"#;

/// The name of the file in the folder of the servers. No server is called that.
pub(super) const NAME: &str = "tmux.conf";

/// Makes the `folder` of the servers if it is not there, writes the configuration into it, and returns
/// where. Nobody else may read either.
pub(super) fn write(folder: &Path) -> Result<PathBuf, TmuxError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .and_then(|()| fs::set_permissions(folder, Permissions::from_mode(0o700)))
        .map_err(TmuxError::unusable(folder))?;
    let path = folder.join(NAME);
    replace(&path).map_err(TmuxError::unusable(&path))?;
    Ok(path)
}

/// Puts the text in the place of whatever is at `path`, so that a server that reads it just now reads
/// the one or the other.
fn replace(path: &Path) -> io::Result<()> {
    let beside = path.with_extension(format!("conf-{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file.write_all(TEXT.as_bytes()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_written_for_nobody_else_to_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("tmux");
        for _ in 0..2 {
            let path = write(&folder).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
            assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            // Whatever somebody made of them is undone.
            fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            fs::write(&path, "source-file ~/.tmux.conf").unwrap();
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let home = tempfile::NamedTempFile::new().unwrap();
        let told = write(&home.path().join("tmux")).unwrap_err().to_string();
        assert!(told.contains("/tmux cannot be used for tmux: "), "{told}");
    }
}
