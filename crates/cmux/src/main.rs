//! Runs a team of AI coding agents you can walk away from.

#[cfg(target_os = "linux")]
mod cli;
#[cfg(target_os = "linux")]
mod cmd;
#[cfg(target_os = "linux")]
mod fail;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod name;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod say;
#[cfg(target_os = "linux")]
mod spin;
#[cfg(target_os = "linux")]
mod tame;
#[cfg(target_os = "linux")]
mod trust;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::print_stderr, reason = "this is all it can do here")]
fn main() -> std::process::ExitCode {
    eprintln!(
        "error: cmux runs on Linux only for now: it needs pidfds, /proc and file locks that hold.\n\
         On Windows, run it inside WSL 2; on macOS, in a Linux virtual machine or container."
    );
    std::process::ExitCode::from(1)
}
