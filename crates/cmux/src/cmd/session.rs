//! `cmux session`: the browsers that were let in.

use clap::Subcommand;
use cmux_drivers::clock;
use cmux_wire::client::Client;
use cmux_wire::session::{Session as Wire, SessionHow, Sessions};

use crate::cli::{Common, wait};
use crate::fail::Fail;
use crate::place;
use crate::say::{Say, Tone, plain, span, toned};

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// List the browsers that are logged in
    #[command(after_help = "Example:\n  cmux session list --json | jq -r '.sessions[].id'")]
    List,
    /// Log a browser out
    #[command(
        after_help = "Exits 4 if there is none.\n\nExample:\n  cmux session close ses_01M7GTHG9ZD35Y2803CC3304GS"
    )]
    Close {
        /// Its id, as `cmux session list` shows it
        id: String,
    },
}

impl Session {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let client = place::client(&place::home(common.home.as_deref())?);
        wait(async {
            match self {
                Session::List => {
                    let sessions = all(&client).await?;
                    let now_ms = clock::wall().0;
                    say.show(&Sessions { sessions, next: None }, |it| tell_all(it, now_ms, say))
                }
                Session::Close { id } => {
                    client.close_session(&id).await?;
                    say.show(&serde_json::json!({"id": id}), |_| format!("{id} is logged out"))
                }
            }
        })
    }
}

async fn all(client: &Client) -> Result<Vec<Wire>, Fail> {
    let mut page = client.sessions(None).await?;
    let mut sessions = page.sessions;
    while let Some(next) = page.next {
        page = client.sessions(Some(&next)).await?;
        sessions.append(&mut page.sessions);
    }
    Ok(sessions)
}

fn tell_all(sessions: &Sessions, now_ms: i64, say: Say) -> String {
    if sessions.sessions.is_empty() {
        return "no browser is logged in: `cmux open` gives a link".to_owned();
    }
    let rows: Vec<_> = sessions
        .sessions
        .iter()
        .map(|it| {
            let how = match it.how {
                SessionHow::Link => "by a link",
                SessionHow::Password => "by the password",
            };
            vec![
                toned(&it.id, Tone::Strong),
                plain(how),
                plain(format!("since {}", it.opened_at)),
                toned(format!("{} left", span(it.expires_at.millis() - now_ms)), Tone::Faint),
            ]
        })
        .collect();
    say.table(&rows)
}
