//! What cmux does to the world, as it is told: files, processes, clocks.

pub mod claims;
pub mod clock;
pub mod config;
pub mod disk;
pub mod failpoint;
pub mod folder;
pub mod home;
pub mod hooks;
pub mod kinds;
pub mod launch_settings;
pub mod lock;
pub mod mail_file;
pub mod manifest;
pub mod password;
pub mod peer;
pub mod private;
pub mod process;
pub mod project_files;
pub mod spool;
pub mod status;
pub mod tls;
pub mod tmux;
pub mod tools;
pub mod transcript;
pub mod typing_lock;
mod written;
