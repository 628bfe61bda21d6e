//! A person who works in a tmux of their own, as many do.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;

use crate::PROGRAM;

/// A person in a tmux of their own.
pub(crate) struct Person {
    socket: PathBuf,
}

impl Person {
    /// Has a person attach to an agent, and tell afterwards how that ended.
    pub(crate) fn attach(home: &TestHome, folder: &Path, name: &str) -> Person {
        Person::at("tmux.sock", home, folder, &format!("'{PROGRAM}' agent attach {name}"))
    }

    /// Has a person attach whose terminal is, as far as can be told, in no tmux.
    pub(crate) fn attach_outside(home: &TestHome, folder: &Path, name: &str) -> Person {
        let attach = format!("env -u TMUX -u TMUX_PANE '{PROGRAM}' agent attach {name}");
        Person::at("outside.sock", home, folder, &attach)
    }

    /// Has a person run a command, and tell afterwards how that ended.
    pub(crate) fn at(socket: &str, home: &TestHome, folder: &Path, command: &str) -> Person {
        let person = Person { socket: home.folder("person").join(socket) };
        // A Ctrl-C is for the command, and not for the shell.
        let attach = format!("trap : INT; {command}; echo left with $?; exec cat");
        let mut start = Command::new("tmux");
        home.equip(&mut start);
        start.args(["-f", "/dev/null", "-S"]).arg(&person.socket);
        start.args(["new-session", "-d", "-x", "90", "-y", "30", "--", "sh", "-c", &attach]);
        start.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("TMUX");
        start.current_dir(folder).process_group(0);
        let started = start.stdin(Stdio::null()).output().unwrap();
        assert!(started.status.success(), "{started:?}");
        person
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        tmux(&self.socket, arguments)
    }

    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        eventually(&format!("the person sees {text}"), || {
            self.tmux(&["capture-pane", "-p"]).contains(text).then_some(())
        });
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Asks the tmux server at `socket`, and returns what it says.
pub(crate) fn tmux(socket: &Path, arguments: &[&str]) -> String {
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(socket).args(arguments).env("LC_ALL", "C.UTF-8").env_remove("TMUX");
    String::from_utf8(tmux.stdin(Stdio::null()).output().unwrap().stdout).unwrap()
}
