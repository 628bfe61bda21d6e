//! The shapes there are, each named once: what is told of them in other languages goes by this list.

/// Hands the shapes that the daemon says to `$said`, and those that clients send to `$sent`.
macro_rules! shapes {
    ($said:ident, $sent:ident) => {
        $said!(
            crate::agent::Agent,
            crate::agent::Agents,
            crate::agent::Intent,
            crate::agent::Phase,
            crate::agent::Place,
            crate::conversation::Conversation,
            crate::conversation::Entry,
            crate::conversation::Said,
            crate::daemon::DaemonStatus,
            crate::daemon::Notice,
            crate::daemon::Status,
            crate::daemon::Stopping,
            crate::daemon::StoreStatus,
            crate::event::Event,
            crate::event::Events,
            crate::event::Notice,
            crate::health::Condition,
            crate::health::Health,
            crate::health::Part,
            crate::hook::ClaimOutcome,
            crate::hook::HookReply,
            crate::hook::HookTaken,
            crate::kind::Cannot,
            crate::kind::Kind,
            crate::kind::Kinds,
            crate::link::Link,
            crate::message::EvidenceCount,
            crate::message::History,
            crate::message::MailCounts,
            crate::message::MailStatus,
            crate::message::Message,
            crate::message::MessageKind,
            crate::message::MessageState,
            crate::message::Messages,
            crate::message::Moment,
            crate::problem::Problem,
            crate::project::Project,
            crate::project::Projects,
            crate::session::Session,
            crate::session::SessionHow,
            crate::session::Sessions,
            crate::store::Archive,
            crate::store::Audit,
            crate::store::Backup,
            crate::store::Check,
            crate::store::Misfit,
            crate::store::Restored,
            crate::terminal::Terminal,
            crate::terminal::TerminalTold,
            crate::token::MadeToken,
            crate::token::Token,
            crate::token::TokenScope,
            crate::token::Tokens,
            crate::trust::ProjectFile,
            crate::trust::Standing,
            crate::trust::Trust,
            crate::turn::Turn,
            crate::turn::TurnEnd,
            crate::usage::Usage,
            crate::vitals::Vital,
            crate::vitals::Vitals,
            crate::webhook::WebhookTaken,
            crate::who::Principal,
            crate::who::Whoami,
            crate::why::Saying,
            crate::why::Why
        );
        $sent!(
            crate::agent::NewAgent,
            crate::agent::Register,
            crate::hook::HookClaim,
            crate::hook::NewHook,
            crate::message::NewMessage,
            crate::project::NewProject,
            crate::session::Login,
            crate::store::NewArchive,
            crate::store::NewBackup,
            crate::terminal::TerminalSaid,
            crate::token::NewToken,
            crate::trust::NewTrust,
            crate::trust::ShownFile
        );
    };
}

pub(crate) use shapes;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn no_shape_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let list = fs::read_to_string(folder.join("shapes.rs")).unwrap();
        let mut found = 0;
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.is_file()) {
            let noun = file.file_stem().unwrap().to_str().unwrap();
            for shape in shapes_in(&fs::read_to_string(&file).unwrap()) {
                let named = format!("            crate::{noun}::{shape}");
                let is_listed = list.lines().any(|line| line.trim_end_matches(',') == named);
                assert!(is_listed, "{noun}::{shape} is not in shapes.rs");
                found += 1;
            }
        }
        assert_eq!(
            found,
            list.lines().filter(|line| line.starts_with("            crate::")).count()
        );
    }

    /// Returns the types in `source` that can be read from JSON.
    fn shapes_in(source: &str) -> Vec<&str> {
        let items = source.split("\n\n").filter(|item| item.contains("Deserialize"));
        let named = items.flat_map(str::lines).filter_map(|line| {
            line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))
        });
        named.filter_map(|rest| rest.split(' ').next()).collect()
    }
}
