//! Failures, as a person and a script see them: what happened, why, what to do, and an exit code.

use std::process::ExitCode;

use cmux_core::guard::Exit;
use cmux_daemon::boot::Failure;
use cmux_daemon::offline::OfflineError;
use cmux_drivers::config::ConfigError;
use cmux_drivers::folder::FolderError;
use cmux_drivers::home::HomeError;
use cmux_drivers::password::PasswordError;
use cmux_wire::client::ClientError;

/// The exit codes that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Failed,
    NoDaemon,
    NotFound,
    Refused,
    TimedOut,
    /// Of `cmux daemon run`: the configuration is wrong.
    Config,
    /// Of `cmux daemon run`: the surroundings are at fault.
    Environment,
    /// Of `cmux daemon run`: cmux itself is at fault.
    Crash,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(match code {
            Code::Failed => 1,
            Code::NoDaemon => 3,
            Code::NotFound => 4,
            Code::Refused => 5,
            Code::TimedOut => 6,
            Code::Config => Exit::CONFIG,
            Code::Environment => Exit::ENVIRONMENT,
            Code::Crash => Exit::CRASH,
        })
    }
}

/// Something that did not work.
#[derive(Debug)]
pub(crate) struct Fail {
    pub(crate) code: Code,
    /// What happened, and why.
    pub(crate) what: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl Fail {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Fail {
        Fail { code, what: what.into(), hint: None }
    }

    pub(crate) fn failed(what: impl Into<String>) -> Fail {
        Fail::new(Code::Failed, what)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Fail {
        Fail { hint: Some(hint.into()), ..self }
    }
}

impl From<ClientError> for Fail {
    fn from(error: ClientError) -> Fail {
        let what = error.to_string();
        match error {
            ClientError::NoDaemon => Fail::new(Code::NoDaemon, what).hint(
                "`cmux up` starts one for the project here, `cmux daemon start` one by itself",
            ),
            ClientError::TimedOut(_) => Fail::new(Code::TimedOut, what)
                .hint("`cmux doctor` looks what is wrong, `cmux daemon restart` starts it anew"),
            ClientError::Refused(problem) => {
                let code = match problem.status {
                    404 => Code::NotFound,
                    401 | 403 | 429 => Code::Refused,
                    _ => Code::Failed,
                };
                Fail::new(code, what)
            }
            ClientError::Broken(_) => Fail::failed(what),
            ClientError::Unreachable(_) => {
                Fail::failed(what).hint("`cmux doctor` looks what is wrong")
            }
            ClientError::Nonsense(_) => Fail::failed(what)
                .hint("the daemon may be of another version: `cmux daemon restart` runs this one"),
        }
    }
}

impl From<ConfigError> for Fail {
    fn from(error: ConfigError) -> Fail {
        Fail::new(Code::Failed, error.to_string())
    }
}

impl From<HomeError> for Fail {
    fn from(error: HomeError) -> Fail {
        Fail::failed(error.to_string())
    }
}

impl From<PasswordError> for Fail {
    fn from(error: PasswordError) -> Fail {
        Fail::failed(error.to_string())
    }
}

impl From<FolderError> for Fail {
    fn from(error: FolderError) -> Fail {
        Fail::new(Code::NotFound, error.to_string())
    }
}

impl From<Failure> for Fail {
    fn from(failure: Failure) -> Fail {
        match failure {
            Failure::Config(what) => Fail::new(Code::Config, what),
            Failure::Environment(what) => Fail::new(Code::Environment, what),
            Failure::Crash(what) => Fail::new(Code::Crash, what),
        }
    }
}

impl From<OfflineError> for Fail {
    fn from(error: OfflineError) -> Fail {
        let what = error.to_string();
        match error {
            OfflineError::InUse { .. } => {
                Fail::failed(what).hint("stop the daemon first: `cmux daemon stop`")
            }
            OfflineError::NoStore(_) => Fail::new(Code::NotFound, what),
            OfflineError::Lock(_) | OfflineError::Store(_) => Fail::failed(what),
        }
    }
}
