//! `cmux open`: a way into the dashboard, for whoever follows it first.
//!
//! On a desktop the browser is handed a page that only its owner can read, and which leads on: what is
//! in a command's arguments, every user of the machine can see.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use cmux_drivers::home::Home;
use cmux_drivers::tools;
use cmux_wire::link::Link;

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, aside, clean};

/// What opens a file as its user would like it on a desktop.
const OPENER: &str = "xdg-open";

/// How long a page is kept: as long as a link can be good.
const PAGE_FOR: Duration = Duration::from_mins(2);

/// How long the opener may take to say that it cannot.
const FAILS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Only print the link
    #[arg(long)]
    no_browser: bool,
}

impl Open {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        if say.json {
            return say.json(&link(&home)?);
        }
        open(&home, say, !self.no_browser)
    }
}

/// Asks the daemon of `home` for a link.
pub(crate) fn link(home: &Home) -> Result<Link, Fail> {
    wait(async { Ok(place::client(home).make_link().await?) })
}

/// Prints a link to the dashboard, and opens it in a browser if there is one and it is wanted.
pub(crate) fn open(home: &Home, say: Say, in_browser: bool) -> Result<(), Fail> {
    let folder = home.root().join("open");
    sweep(&folder, SystemTime::now());
    let link = link(home)?;
    say.line(&clean(&link.url))?;
    let browser = if in_browser { browser() } else { None };
    let opened = browser.map(|program| browse(&folder, &link.browser_url, &program));
    let hint = match opened {
        Some(Ok(())) => "opened in the browser; if nothing shows there, follow the link yourself",
        Some(Err(error)) => {
            aside(&format!("the browser was not opened: {error}"));
            "follow the link yourself"
        }
        None => "follow it in a browser on this machine",
    };
    if io::stderr().is_terminal() {
        aside(&format!("{hint}. It works once, until {}", link.expires_at));
    }
    Ok(())
}

/// Returns what opens a page, if this is a desktop and somebody sits at it.
fn browser() -> Option<PathBuf> {
    if !is_desktop(io::stdout().is_terminal(), |name| env::var_os(name)) {
        return None;
    }
    tools::find_all(OPENER, &env::var_os("PATH")?).into_iter().next()
}

fn is_desktop(on_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    on_terminal && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

/// Lays a page that leads to `url` into `folder`, and has `program` open it.
fn browse(folder: &Path, url: &str, program: &Path) -> io::Result<()> {
    let page = lay(folder, url)?;
    let opened = start(program, &page);
    if opened.is_err() {
        let _ = fs::remove_file(&page);
    }
    opened
}

/// Writes a page that leads to `url`, for nobody else to read.
fn lay(folder: &Path, url: &str) -> io::Result<PathBuf> {
    let text = page(url).ok_or_else(|| io::Error::other("the daemon's link leads nowhere"))?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let mut dice = [0; 16];
    getrandom::fill(&mut dice).map_err(io::Error::other)?;
    let path = folder.join(format!("{:032x}.html", u128::from_ne_bytes(dice)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Returns a page that leads to `url`, if that is the address of one.
fn page(url: &str) -> Option<String> {
    let is_address = url.starts_with("http://") || url.starts_with("https://");
    let url = escape(url);
    is_address.then(|| {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n\
             <title>cmux</title>\n<p><a href=\"{url}\">To the dashboard</a></p>\n</html>\n"
        )
    })
}

/// Returns `text` as it may stand in HTML, in quotes or not.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Starts `program` with the page, and returns once it is done or seems to be well.
fn start(program: &Path, page: &Path) -> io::Result<()> {
    let mut child = Command::new(program)
        .arg(page)
        // It may go on as the browser itself, which is not to end with this terminal's command.
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Instant::now();
    while begun.elapsed() < FAILS_WITHIN {
        match child.try_wait()? {
            None => thread::sleep(Duration::from_millis(20)),
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(io::Error::other(format!("{} ended with {status}", program.display())));
            }
        }
    }
    Ok(())
}

/// Removes the pages in `folder` whose links are over at `now`.
fn sweep(folder: &Path, now: SystemTime) {
    // What cannot be read or removed is tried again at the next link, and leads nowhere by then.
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let laid_at = file.metadata().and_then(|file| file.modified());
        let is_over = laid_at.is_ok_and(|at| now.duration_since(at).is_ok_and(|it| it > PAGE_FOR));
        let path = file.path();
        if is_over && path.extension().is_some_and(|ending| ending == "html") {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:8000/enter?a=1&b='\"<x>";

    #[test]
    fn a_page_is_for_nobody_else_to_read_and_leads_to_the_link() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("open");
        let (first, second) = (lay(&folder, URL).unwrap(), lay(&folder, URL).unwrap());
        assert_ne!(first, second);
        assert_eq!((mode(&folder), mode(&first)), (0o700, 0o600));
        let page = fs::read_to_string(first).unwrap();
        let url = "http://127.0.0.1:8000/enter?a=1&amp;b=&#39;&quot;&lt;x&gt;";
        assert!(page.contains(&format!("content=\"0; url={url}\"")), "{page}");
        assert!(!page.contains(URL), "{page}");
    }

    #[test]
    fn a_folder_that_others_could_read_is_shut() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        lay(&folder, URL).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn only_addresses_are_led_to() {
        for url in ["", "javascript:alert(1)", "file:///etc/passwd", "//127.0.0.1", "httpx://a"] {
            assert_eq!(page(url), None, "{url}");
        }
        assert!(page("https://cmux.test/").is_some());
    }

    #[test]
    fn the_browser_is_told_the_page_and_never_the_link() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("open");
        let opener = script(home.path(), "echo \"$@\" > \"$0.told\"; cat \"$1\" > \"$0.read\"");
        browse(&folder, URL, &opener).unwrap();
        let told = fs::read_to_string(home.path().join("opener.told")).unwrap();
        let pages: Vec<PathBuf> =
            fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(told.trim_end(), pages[0].to_str().unwrap());
        assert_eq!(pages.len(), 1);
        assert!(fs::read_to_string(home.path().join("opener.read")).unwrap().contains("refresh"));
    }

    #[test]
    fn a_page_that_nothing_opens_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("open");
        for opener in [script(home.path(), "exit 3"), home.path().join("nothing-here")] {
            browse(&folder, URL, &opener).unwrap_err();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{}", opener.display());
        }
    }

    #[test]
    fn pages_go_when_their_links_are_over_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("open");
        sweep(&folder, SystemTime::now());
        assert!(!folder.exists());
        let page = lay(&folder, URL).unwrap();
        let other = folder.join("notes.txt");
        fs::write(&other, "").unwrap();
        sweep(&folder, SystemTime::now());
        assert!(page.exists());
        sweep(&folder, SystemTime::now() + PAGE_FOR + Duration::from_secs(1));
        assert_eq!((page.exists(), other.exists()), (false, true));
    }

    #[test]
    fn a_desktop_is_a_terminal_with_a_screen_beside_it() {
        for (on_terminal, variable, expected) in [
            (true, ("DISPLAY", ":0"), true),
            (true, ("WAYLAND_DISPLAY", "wayland-0"), true),
            (false, ("DISPLAY", ":0"), false),
            (true, ("DISPLAY", ""), false),
            (true, ("TERM", "xterm"), false),
        ] {
            let found =
                is_desktop(on_terminal, |name| (name == variable.0).then(|| variable.1.into()));
            assert_eq!(found, expected, "{on_terminal} {variable:?}");
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// Makes a program that does this.
    fn script(folder: &Path, does: &str) -> PathBuf {
        let path = folder.join("opener");
        // Written by another process: a file that this one has open for writing cannot be run.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 700 \"$0\"";
        let written = Command::new("sh").arg("-c").arg(write).arg(&path).arg(does).status();
        assert!(written.unwrap().success());
        path
    }
}
