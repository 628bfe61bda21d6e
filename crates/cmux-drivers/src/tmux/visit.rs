//! Visits to a tmux server of a person's own: a client comes, does a list of commands, and is gone.
//!
//! Nobody attaches to it. A client in control mode would count among the person's own, set off what they
//! hooked to that, and change the environment of their session; and tmux before 3.7 dies if one comes in
//! the moment in which another goes. A visit is none of that, and whatever kills the daemon, nothing of
//! it is left. What it costs is a process for each look, so that looks are few.

use std::process::Stdio;
use std::time::Duration;

use cmux_core::id::RunId;
use rustix::process::geteuid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::{Reply, nonce};
use super::command::Command;
use super::control::Control;
use super::glance::TYPED;
use super::guard::NOW;
use super::line::BLOCK_MAX;
use super::pane::{self, Pane, PaneId, STEPS, Tags};
use super::server::Server;
use super::version::Version;
use super::{TmuxError, shorten};

/// The most that is read of why tmux refused, in bytes.
const WORDS_MAX: u64 = 4096;

/// What says that a pane has got its tags, or has lost them.
const DONE: &str = "cmux-tags done";

/// What says that it was not as expected.
const NOT_DONE: &str = "cmux-tags not";

/// Does a list of commands at `server`, and returns what each of them said.
pub(super) async fn run(server: &Server, command: &Command) -> Result<Reply, TmuxError> {
    // Nobody in a pane can guess it, and so make what is on a screen look like the end of it.
    let mark = format!("cmux-{:016x}", nonce());
    let line = command.line_with(&format!("display-message -p {mark}"))?;
    // One at a time: tmux has one thread.
    let _turn = server.door().lock_owned().await;
    let mut child = server
        .client()
        // By its input, as what others run is for everybody to read.
        .args(["source-file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| server.unstartable(error))?;
    let (Some(mut input), Some(output), Some(words)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(TmuxError::Gone);
    };
    let (mut said, mut refusal) = (Vec::new(), Vec::new());
    let most = u64::try_from(BLOCK_MAX).unwrap_or(u64::MAX);
    let (mut output, mut words) = (output.take(most), words.take(WORDS_MAX));
    let spoken = async {
        // If it has ended already, it says why.
        let _ = input.write_all(format!("{line}\n").as_bytes()).await;
        drop(input);
    };
    let (read, told, ()) =
        tokio::join!(output.read_to_end(&mut said), words.read_to_end(&mut refusal), spoken);
    if read.is_err() || told.is_err() || said.len() >= BLOCK_MAX {
        return Err(TmuxError::Gone);
    }
    let ended = child.wait().await.map_err(|_| TmuxError::Gone)?;
    match (ended.success(), String::from_utf8_lossy(&refusal).trim()) {
        (true, _) => Ok(Reply::of(split(&said, &mark))),
        (false, words) if words.is_empty() || words.contains("server exited") => {
            Err(TmuxError::Gone)
        }
        (false, words) => Err(TmuxError::refused(words)),
    }
}

/// Returns what is between the lines that are `mark`.
fn split(said: &[u8], mark: &str) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    for line in said.split_inclusive(|&byte| byte == b'\n') {
        if line.strip_suffix(b"\n") == Some(mark.as_bytes()) {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.extend(line);
        }
    }
    parts
}

/// Returns a pane of a person's server as it is, if that server runs, is this user's own and recent
/// enough.
pub async fn find(server: &Server, pane: PaneId, within: Duration) -> Result<Pane, TmuxError> {
    let (_, owner) = server.listener().await?;
    if owner != geteuid().as_raw() {
        let why = std::io::Error::other("it is another user's, and cmux goes to your own only");
        return Err(TmuxError::unusable(server.socket())(why));
    }
    let control = Control::visiting(server);
    let hello = Command::new("display-message").with("-p", "#{version}");
    let said = control.command(&hello, within).await?.text();
    match Version::parse(&said) {
        Some(version) if version.is_enough() => {}
        Some(version) => return Err(TmuxError::TooOld { found: version.to_string() }),
        None => return Err(TmuxError::Garbled(shorten(&said))),
    }
    let panes = pane::survey(&control, within).await?;
    panes.into_iter().find(|it| it.id == pane).ok_or(TmuxError::NoPane(pane))
}

/// Gives a pane its tags, if it is still as it was `seen`. Returns whether it was. If it is not known,
/// it may be tried again.
pub async fn tag(
    control: &Control,
    seen: &Pane,
    tags: &Tags,
    within: Duration,
) -> Result<bool, TmuxError> {
    let before = seen.tags.as_ref().map(|tags| tags.run.to_string()).unwrap_or_default();
    let (Tags { agent, run, name, kind }, target) = (tags, seen.id.to_string());
    let (agent, run) = (agent.to_string(), run.to_string());
    let all = [
        is_pane(seen.id),
        format!("#{{==:#{{pane_pid}},{}}}", seen.pid.unwrap_or(0)),
        "#{?pane_dead,0,1}".to_owned(),
        format!("#{{||:#{{==:#{{@cmux_run}},{before}}},#{{==:#{{@cmux_run}},{run}}}}}"),
    ];
    let values =
        [("@cmux_agent", &agent), ("@cmux_run", &run), ("@cmux_name", name), ("@cmux_kind", kind)];
    let set = values.map(|(option, value)| {
        Command::new("set-option").flag("-p").with("-t", &target).flag(option).word(value)
    });
    change(control, seen.id, &all, set, within).await
}

/// Takes the tags of `run` from a pane, and all else that cmux has set on it, if it has them.
pub async fn untag(
    control: &Control,
    pane: PaneId,
    run: RunId,
    within: Duration,
) -> Result<(), TmuxError> {
    let target = pane.to_string();
    let all = [is_pane(pane), format!("#{{==:#{{@cmux_run}},{run}}}")];
    let options = ["@cmux_agent", "@cmux_name", "@cmux_kind", STEPS, NOW, TYPED, "@cmux_run"];
    let unset = options.map(|option| {
        let unset = Command::new("set-option").flag("-p").flag("-q").flag("-u");
        unset.with("-t", &target).flag(option)
    });
    match change(control, pane, &all, unset, within).await {
        Ok(_) | Err(TmuxError::NoPane(_) | TmuxError::NoServer) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Does `commands` in a pane if `all` of these formats stand for 1. Returns whether they did.
async fn change<const N: usize>(
    control: &Control,
    pane: PaneId,
    all: &[String],
    commands: [Command; N],
    within: Duration,
) -> Result<bool, TmuxError> {
    let all = all.iter().fold("1".to_owned(), |rest, it| format!("#{{&&:{it},{rest}}}"));
    let say = |what: &str| Command::new("display-message").with("-p", what);
    let Some(done) = commands.into_iter().reduce(Command::then) else { return Ok(false) };
    let guarded = Command::new("if-shell").flag("-F").with("-t", &pane.to_string()).word(&all);
    let guarded = guarded.block(done.then(say(DONE))).block(say(NOT_DONE));
    let said = control.command(&guarded, within).await?.text();
    match said.trim() {
        DONE => Ok(true),
        NOT_DONE => Ok(false),
        said => Err(TmuxError::Garbled(shorten(said))),
    }
}

/// Returns the format that stands for 1 in this pane: where there is none, tmux looks at another.
fn is_pane(pane: PaneId) -> String {
    format!("#{{m:?{},#{{pane_id}}}}", pane.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_parted_at_the_marks_and_nowhere_else() {
        for (said, expected) in [
            ("", vec![""]),
            ("a\n", vec!["a\n"]),
            ("a\nmark\nb\n", vec!["a\n", "b\n"]),
            ("mark\nb\n\n", vec!["", "b\n\n"]),
            ("a mark\nmark\n", vec!["a mark\n", ""]),
            ("a\nmark", vec!["a\nmark"]),
        ] {
            let parts: Vec<Vec<u8>> = expected.iter().map(|it| it.as_bytes().to_vec()).collect();
            assert_eq!(split(said.as_bytes(), "mark"), parts, "{said:?}");
        }
    }
}
