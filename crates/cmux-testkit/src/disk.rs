//! A small disk under a home, which can be filled up and made read-only.
//!
//! It is a file system in memory, mounted in a namespace of its own, so that it takes no rights and
//! nobody else sees it. From outside it is reached through the process that keeps the namespace.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use cmux_wire::client::Client;
use rustix::fs::statvfs;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::daemon::Daemon;
use crate::home::{Ran, TestHome};
use crate::wait::eventually;

/// The least that a disk in memory gives out, in bytes.
pub const BLOCK: u64 = 4096;

/// A home on a small disk of its own. It is gone with the test.
#[derive(Debug)]
pub struct SmallDisk {
    keeper: Child,
    home: TestHome,
}

impl SmallDisk {
    /// Mounts a disk of so many bytes under a home for `program`.
    pub fn new(program: &str, bytes: u64) -> SmallDisk {
        let home = TestHome::new(program);
        let mount = "mount -t tmpfs -o size=$1,mode=700 tmpfs \"$2\" && echo mounted && exec cat";
        let mut command = Command::new("unshare");
        if !geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", mount, "sh", &bytes.to_string()]).arg(home.root());
        // It ends with the test, whatever becomes of that: then nobody holds its input any more.
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut word = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut word).unwrap();
        assert_eq!(word, "mounted\n", "no disk could be mounted: are user namespaces allowed?");
        SmallDisk { keeper, home }
    }

    /// Returns where the home is to be found from outside.
    pub fn root(&self) -> PathBuf {
        let inside = self.home.root();
        PathBuf::from(format!("/proc/{}/root{}", self.keeper.id(), inside.display()))
    }

    /// Returns where the home is for whoever runs on the disk.
    pub fn inner_root(&self) -> PathBuf {
        self.home.root()
    }

    pub fn client(&self) -> Client {
        Client::new(&self.root().join("cmux.sock"))
    }

    /// Returns the real program, about to be run on the disk with `arguments`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.enter();
        command.arg(self.home.program()).args(arguments);
        command
    }

    /// Runs the program on the disk to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts the program on the disk with `arguments`, without waiting for it.
    pub fn launch(&self, arguments: &[&str]) -> Daemon {
        Daemon::launch(&self.home, self.command(arguments))
    }

    /// Starts `cmux daemon run` and waits until it answers.
    pub fn daemon(&self) -> Daemon {
        let mut daemon = self.launch(&["daemon", "run"]);
        eventually("the daemon answers", || {
            assert_eq!(daemon.ended(), None, "it ended: {}", daemon.said());
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let status = runtime.block_on(self.client().daemon()).ok()?;
            let is_it = status.pid == Some(daemon.pid().cast_unsigned());
            (is_it && !status.starting).then_some(())
        });
        daemon
    }

    /// Returns how many bytes are free.
    pub fn free_bytes(&self) -> u64 {
        let disk = statvfs(self.root()).unwrap();
        disk.f_bavail * disk.f_frsize
    }

    /// Fills the disk up to `rest` bytes, with a file that only `make_room` removes.
    pub fn fill(&self, rest: u64) {
        let path = self.root().join("filler");
        // With a file of cmux's in it, however short, it is a home all the same.
        File::options().append(true).create(true).open(self.root().join("config.toml")).unwrap();
        let mut filler = File::options().append(true).create(true).open(path).unwrap();
        while let Some(more) = self.free_bytes().checked_sub(rest).filter(|&more| more > 0) {
            let block = vec![0_u8; usize::try_from(more.min(1 << 20)).unwrap()];
            match filler.write_all(&block) {
                // Somebody else took it meanwhile: it is full all the same.
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
                written => written.unwrap(),
            }
        }
    }

    /// Fills up the last block of the file `name` in the home, so that no more fits in it.
    pub fn pad(&self, name: &str) {
        let mut file = File::options().append(true).open(self.root().join(name)).unwrap();
        let rest =
            file.metadata().unwrap().len().next_multiple_of(BLOCK) - file.metadata().unwrap().len();
        file.write_all(&vec![b'\n'; usize::try_from(rest).unwrap()]).unwrap();
    }

    /// Removes what `fill` has written.
    pub fn make_room(&self) {
        fs::remove_file(self.root().join("filler")).unwrap();
    }

    /// Mounts the disk again: `ro` to read from, or `rw` to write to as well.
    pub fn remount(&self, mode: &str) {
        let mut mount = self.enter();
        // The mount alone and not the file system, which takes more rights.
        mount.args(["mount", "-o", &format!("remount,bind,{mode}")]).arg(self.home.root());
        assert!(mount.status().unwrap().success(), "the disk could not be mounted again");
    }

    /// Removes everything on the disk.
    pub fn clear(&self) {
        fs::set_permissions(self.root(), Permissions::from_mode(0o700)).unwrap();
        for entry in fs::read_dir(self.root()).unwrap() {
            let path = entry.unwrap().path();
            let is_folder = path.is_dir();
            if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
    }

    /// Returns a command that runs its arguments where the disk is mounted.
    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        self.home.equip(&mut command);
        if !geteuid().is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.args(["--mount", "--target", &self.keeper.id().to_string(), "--"]);
        command
    }

    /// Returns the processes that run where the disk is mounted, but for the one that keeps it so.
    fn users(&self) -> Vec<Pid> {
        let place = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let keeper = self.keeper.id().cast_signed();
        let me = std::process::id().cast_signed();
        // What cannot be told from the rest of the machine is left alone.
        let Some(here) = place(keeper).filter(|here| Some(here) != place(me).as_ref()) else {
            return Vec::new();
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let users = pids.filter(|&pid| pid != keeper && place(pid).as_ref() == Some(&here));
        users.filter_map(Pid::from_raw).collect()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Whoever is killed may have started another just before.
        for _ in 0..3 {
            for user in self.users() {
                let _ = kill_process(user, Signal::KILL);
            }
        }
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
