//! What a person trusts of a project's own files, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many files can be trusted at once.
const FILES_MAX: usize = 65;

/// How the path of a file looks that is trusted or not, below its project's root.
const PATH: &str = r"^\.cmux/(config\.toml|roles/[A-Za-z][A-Za-z0-9._-]{0,31}\.md)$";

/// How a digest looks: a SHA-256 in hexadecimal.
const DIGEST: &str = "^[0-9a-f]{64}$";

/// What is trusted of a project, and what of its own files acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Trust {
    /// The project's id.
    pub project: String,
    /// Whether its agents may say, in a dialog of their CLI, that the person trusts the folder.
    pub folder: bool,
    /// Each file that says what is done in the project, as it is now.
    pub files: Vec<ProjectFile>,
    /// The kind of its agents that the project wants, if that is trusted.
    pub kind: Option<String>,
    /// Whether the project wants a supervisor, if that is trusted.
    pub supervisor: Option<bool>,
    /// What is wrong with its files, each with its reason. It is not used.
    pub refused: Vec<String>,
}

/// A file of a project that says what is done in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ProjectFile {
    /// Below the project's root.
    #[schemars(regex(pattern = PATH))]
    pub path: String,
    /// The SHA-256 of what is in it, in hexadecimal.
    #[schemars(regex(pattern = DIGEST))]
    pub digest: String,
    pub standing: Standing,
}

/// How a file stands with the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is trusted as it is.
    Trusted,
    /// It was trusted, and is another one since.
    Changed,
    /// It never was.
    New,
}

/// Trusts files as the person was shown them. What was trusted before stays so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewTrust {
    #[schemars(length(max = FILES_MAX))]
    pub files: Vec<ShownFile>,
    /// Whether agents may say, in a dialog of their CLI, that the person trusts the folder.
    pub folder: bool,
}

/// A file as a person was shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ShownFile {
    /// Below the project's root.
    #[schemars(regex(pattern = PATH))]
    pub path: String,
    /// The SHA-256 of what was shown, in hexadecimal.
    #[schemars(regex(pattern = DIGEST))]
    pub digest: String,
}
