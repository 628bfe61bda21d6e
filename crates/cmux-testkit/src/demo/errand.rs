//! Errands: commands that are run for hooks and tools, and ended when they take too long.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How much is kept of what a command says.
const OUTPUT_MAX: usize = 1 << 20;

/// How often it is looked after, and how often once it has closed its outputs: it is about to end.
const LOOK: Duration = Duration::from_millis(10);
const LOOK_AT_END: Duration = Duration::from_millis(1);

/// How long what a command has left behind may still speak for it.
const AFTER: Duration = Duration::from_millis(100);

/// What is to be run, by a shell.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    pub(crate) command: String,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) stdin: String,
    pub(crate) timeout: Duration,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code, or 128 and the signal that ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// It took too long, or was not wanted any more, and was killed with all that it started.
    pub(crate) was_cut_short: bool,
}

/// Something that it said, on either of its outputs.
enum Heard {
    Out(Vec<u8>),
    Err(Vec<u8>),
}

impl Errand {
    /// Runs it to its end, or until its time is over or `cancelled` is set.
    pub(crate) fn run(&self, cancelled: &AtomicBool) -> io::Result<Ended> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).current_dir(&self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, to be ended as one.
        let mut child = command.process_group(0).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let text = self.stdin.clone();
            // It need not read it.
            thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
        }
        let (sender, heard) = sync_channel(16);
        listen(child.stdout.take(), Heard::Out, sender.clone());
        listen(child.stderr.take(), Heard::Err, sender);
        attend(&mut child, &heard, self.timeout, cancelled)
    }
}

/// Passes on what `output` says, until it is closed.
fn listen<R: Read + Send + 'static>(
    output: Option<R>,
    heard: fn(Vec<u8>) -> Heard,
    sender: SyncSender<Heard>,
) {
    let Some(mut output) = output else { return };
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            if sender.send(heard(buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
}

fn attend(
    child: &mut Child,
    heard: &Receiver<Heard>,
    timeout: Duration,
    cancelled: &AtomicBool,
) -> io::Result<Ended> {
    let (begun, mut over) = (Instant::now(), None);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ended = Ended::default();
    loop {
        match heard.recv_timeout(LOOK) {
            Ok(Heard::Out(bytes)) => keep(&mut out, &bytes),
            Ok(Heard::Err(bytes)) => keep(&mut err, &bytes),
            Err(RecvTimeoutError::Timeout) => {}
            // Nobody speaks any more; it may still run.
            Err(RecvTimeoutError::Disconnected) if over.is_some() => break,
            Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_AT_END),
        }
        if let Some(since) = over {
            if Instant::now().duration_since(since) > AFTER {
                break;
            }
        } else if let Some(status) = child.try_wait()? {
            let signal = status.signal().map(|signal| 128 + signal);
            ended.code = status.code().or(signal).unwrap_or(1);
            over = Some(Instant::now());
        } else if !ended.was_cut_short
            && (begun.elapsed() > timeout || cancelled.load(Ordering::Relaxed))
        {
            ended.was_cut_short = true;
            end(child);
        }
    }
    ended.stdout = String::from_utf8_lossy(&out).into_owned();
    ended.stderr = String::from_utf8_lossy(&err).into_owned();
    Ok(ended)
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = OUTPUT_MAX.saturating_sub(kept.len());
    kept.extend(&bytes[..bytes.len().min(room)]);
}

/// Kills the command with its group. Until it is waited for, the number is its own.
fn end(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
#[cfg(feature = "kit")]
mod tests {
    use super::*;
    use crate::wait::PATIENCE;

    #[test]
    fn it_tells_what_was_said_and_how_it_ended() {
        let ended = run("cat; echo aside >&2; exit 3", PATIENCE);
        assert_eq!(ended.stdout, "given");
        assert_eq!((ended.stderr.as_str(), ended.code), ("aside\n", 3));
        assert!(!ended.was_cut_short);
        assert_eq!(run("kill -TERM $$", PATIENCE).code, 128 + 15);
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let ended = run("sleep 1000 & echo $!; wait", Duration::from_millis(300));
        assert!(ended.was_cut_short, "{ended:?}");
        let child = ended.stdout.trim().to_owned();
        crate::wait::eventually("its child is gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
        });
    }

    #[test]
    fn what_it_leaves_behind_holds_nobody_up() {
        let ended = run("sleep 2 & echo done", PATIENCE);
        assert_eq!((ended.stdout.as_str(), ended.code), ("done\n", 0));
    }

    #[test]
    fn a_flood_is_cut_and_not_kept() {
        let ended = run("yes | head -c 3000000", PATIENCE);
        assert_eq!((ended.stdout.len(), ended.code), (OUTPUT_MAX, 0));
    }

    #[test]
    fn what_is_not_wanted_any_more_is_ended() {
        let ended = errand("sleep 1000", PATIENCE).run(&AtomicBool::new(true)).unwrap();
        assert!(ended.was_cut_short);
    }

    fn run(command: &str, timeout: Duration) -> Ended {
        errand(command, timeout).run(&AtomicBool::new(false)).unwrap()
    }

    fn errand(command: &str, timeout: Duration) -> Errand {
        Errand {
            command: command.into(),
            folder: "/".into(),
            environment: Vec::new(),
            stdin: "given".into(),
            timeout,
        }
    }
}
