//! `cmux token`: what scripts show the API to be let in.

use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use cmux_core::nearest::nearest;
use cmux_drivers::clock;
use cmux_wire::client::Client;
use cmux_wire::token::{EXPIRES_IN_S_MAX, MadeToken, NewToken, Token as Wire, TokenScope, Tokens};

use crate::cli::{Common, wait};
use crate::fail::{Code, Fail};
use crate::place;
use crate::say::{Cell, Say, Tone, aside, clean, plain, span, toned};

/// The longest that a token may be asked for, in days; what is to outlive that is for ever.
const DAYS_MAX: u64 = EXPIRES_IN_S_MAX / (24 * 60 * 60);

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token, and print its secret: once, and never again
    #[command(
        after_help = "Only the secret goes to standard output, so that a script can keep it.\n\n\
                      Examples:\n  cmux token create ci --scope read\n  \
                      TOKEN=$(cmux token create deploy --scope operate --expires 12h)\n  \
                      cmux token create --scope send --expires never --json | jq -r .secret"
    )]
    Create(Create),
    /// List the tokens that are good, without their secrets
    #[command(after_help = "Example:\n  cmux token list --json | jq -r '.tokens[].id'")]
    List {
        /// Also those that have expired or were revoked
        #[arg(long)]
        all: bool,
    },
    /// Revoke a token: it is refused from now on
    #[command(after_help = "Exits 4 if there is none.\n\nExample:\n  cmux token revoke ci")]
    Revoke {
        /// Its id, or a name that only one has
        #[arg(value_name = "ID")]
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What it is for
    name: Option<String>,
    /// What it lets its bearer do
    #[arg(long, value_enum)]
    scope: Scope,
    /// For how long it is good: minutes, hours, days or weeks such as 90m, 12h, 30d, 8w, or never
    #[arg(long, value_name = "TIME", default_value = "30d")]
    expires: Expires,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scope {
    /// Look, and change nothing
    Read,
    /// Also send messages
    Send,
    /// Also change what there is: projects, agents, backups
    Operate,
}

/// For how many seconds a token is good, if not for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expires(Option<u64>);

impl Token {
    pub(crate) fn run(self, common: &Common, say: Say) -> Result<(), Fail> {
        let home = place::home(common.home.as_deref())?;
        let client = place::client(&home);
        wait(async {
            match self {
                Token::Create(create) => create.run(&client, say).await,
                Token::List { all: is_all } => {
                    let now_ms = clock::wall().0;
                    let mut tokens = all(&client).await?;
                    tokens.retain(|it| is_all || is_good(it, now_ms));
                    say.show(&Tokens { tokens, next: None }, |it| tell_all(it, now_ms, say))
                }
                Token::Revoke { token } => {
                    let found = find(&client, &token).await?;
                    client.revoke_token(&found.id).await?;
                    let revoked = find(&client, &found.id).await.unwrap_or(found);
                    say.show(&revoked, |it| format!("revoked {} ({})", it.id, clean(&it.name)))
                }
            }
        })
    }
}

impl Create {
    async fn run(self, client: &Client, say: Say) -> Result<(), Fail> {
        let Create { name, scope, expires: Expires(expires_in_s) } = self;
        let made =
            client.create_token(&NewToken { name, scope: scope.into(), expires_in_s }).await?;
        say.show(&made, |it| clean(&it.secret))?;
        if !say.json {
            let address = client.daemon().await.ok().and_then(|daemon| daemon.address);
            aside(&tell_made(&made, address.as_deref().unwrap_or("http://HOST:PORT")));
        }
        Ok(())
    }
}

/// Returns what is to be known of a token beside its secret.
fn tell_made(made: &MadeToken, address: &str) -> String {
    let Wire { id, name, scope, expires_at, .. } = &made.token;
    let until = expires_at.map_or_else(|| "for ever".to_owned(), |at| format!("until {at}"));
    format!(
        "This is {id} ({}), good to {scope}, {until}. It is not shown again: keep it now.\n\
         To use it, with the secret in $TOKEN:\n  \
         curl -H \"Authorization: Bearer $TOKEN\" {}/api/projects\n\
         `cmux token revoke {id}` ends it.",
        clean(name),
        clean(address)
    )
}

async fn all(client: &Client) -> Result<Vec<Wire>, Fail> {
    let mut page = client.tokens(None).await?;
    let mut tokens = page.tokens;
    while let Some(next) = page.next {
        page = client.tokens(Some(&next)).await?;
        tokens.append(&mut page.tokens);
    }
    Ok(tokens)
}

async fn find(client: &Client, wanted: &str) -> Result<Wire, Fail> {
    choose(&all(client).await?, wanted).cloned()
}

/// Returns the token that `wanted` means: by id, or by a name that only one has that is not revoked.
fn choose<'a>(tokens: &'a [Wire], wanted: &str) -> Result<&'a Wire, Fail> {
    if let Some(found) = tokens.iter().find(|it| it.id == wanted) {
        return Ok(found);
    }
    let is_meant = |it: &&Wire| it.name == wanted && it.revoked_at.is_none();
    match tokens.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
        [found] => Ok(found),
        [] => {
            let known = tokens.iter().flat_map(|it| [it.id.as_str(), it.name.as_str()]);
            let fail = Fail::new(Code::NotFound, format!("there is no token `{wanted}`"));
            let near = nearest(wanted, known).filter(|near| *near != wanted);
            Err(fail.hint(near.map_or_else(
                || "`cmux token list` shows those there are".to_owned(),
                |near| format!("did you mean `{near}`?"),
            )))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|it| it.id.as_str()).collect();
            Err(Fail::failed(format!("several tokens are called {wanted}: {}", ids.join(", ")))
                .hint("name one by its id"))
        }
    }
}

fn tell_all(tokens: &Tokens, now_ms: i64, say: Say) -> String {
    if tokens.tokens.is_empty() {
        return "no tokens yet: `cmux token create NAME --scope read` makes one".to_owned();
    }
    let rows: Vec<_> = tokens
        .tokens
        .iter()
        .map(|it| {
            vec![
                toned(&it.id, Tone::Strong),
                plain(&it.name),
                plain(it.scope.to_string()),
                standing(it, now_ms),
                toned(format!("made {}", it.created_at), Tone::Faint),
            ]
        })
        .collect();
    say.table(&rows)
}

fn is_good(token: &Wire, now_ms: i64) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|at| now_ms < at.millis())
}

/// Returns whether a token is good, and for how long.
fn standing(token: &Wire, now_ms: i64) -> Cell {
    match (token.revoked_at, token.expires_at) {
        (Some(_), _) => toned("revoked", Tone::Bad),
        (None, None) => toned("never expires", Tone::Warning),
        (None, Some(at)) if at.millis() <= now_ms => toned("expired", Tone::Bad),
        (None, Some(at)) => toned(format!("{} left", span(at.millis() - now_ms)), Tone::Good),
    }
}

impl From<Scope> for TokenScope {
    fn from(scope: Scope) -> TokenScope {
        match scope {
            Scope::Read => TokenScope::Read,
            Scope::Send => TokenScope::Send,
            Scope::Operate => TokenScope::Operate,
        }
    }
}

impl FromStr for Expires {
    type Err = String;

    fn from_str(text: &str) -> Result<Expires, String> {
        if text == "never" {
            return Ok(Expires(None));
        }
        let unclear = || "say it as 90m, 12h, 30d, 8w or never".to_owned();
        let unit = text.chars().next_back().ok_or_else(unclear)?;
        let unit_s = match unit {
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return Err(unclear()),
        };
        let digits = &text[..text.len() - unit.len_utf8()];
        // A sign would be taken as part of a number otherwise.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(unclear());
        }
        let seconds = digits.parse().ok().and_then(|count: u64| count.checked_mul(unit_s));
        match seconds {
            Some(0) => Err("it would never be good".to_owned()),
            Some(seconds) if seconds <= DAYS_MAX * 24 * 60 * 60 => Ok(Expires(Some(seconds))),
            Some(_) | None => Err(format!("{DAYS_MAX}d is the longest; beyond that, say never")),
        }
    }
}

#[cfg(test)]
mod tests {
    use cmux_wire::time::Time;
    use cmux_wire::token::EXPIRES_IN_S;

    use super::*;

    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    #[test]
    fn a_time_is_read_in_the_unit_that_it_is_said_in() {
        for (text, seconds) in [
            ("90m", Some(5_400)),
            ("12h", Some(43_200)),
            ("30d", Some(EXPIRES_IN_S)),
            ("8w", Some(4_838_400)),
            ("3652d", Some(315_532_800)),
            ("007d", Some(604_800)),
            ("never", None),
        ] {
            assert_eq!(text.parse(), Ok(Expires(seconds)), "{text}");
        }
    }

    #[test]
    fn a_time_that_is_none_is_refused_with_what_is_right() {
        for (text, why) in [
            ("", "30d"),
            ("d", "30d"),
            ("30", "30d"),
            ("30 d", "30d"),
            ("+1d", "30d"),
            ("-1d", "30d"),
            ("1.5h", "30d"),
            ("30D", "30d"),
            ("1年", "30d"),
            ("٣d", "30d"),
            ("Never", "never"),
            ("0h", "never be good"),
            ("36501d", "say never"),
            ("99999999999999999999d", "say never"),
            ("18446744073709551615w", "say never"),
        ] {
            let refused = text.parse::<Expires>().unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_token_is_found_by_its_id_or_by_a_name_that_only_one_has() {
        let revoked = Wire { revoked_at: Some(Time::from_millis(1)), ..token("tok_1", "ci") };
        let tokens = [revoked, token("tok_2", "ci"), token("tok_3", "a"), token("tok_4", "a")];
        for (wanted, expected) in [
            ("tok_1", Ok("tok_1")),
            ("ci", Ok("tok_2")),
            ("a", Err(Code::Failed)),
            ("cii", Err(Code::NotFound)),
            ("", Err(Code::NotFound)),
        ] {
            let found = choose(&tokens, wanted).map(|it| it.id.as_str()).map_err(|it| it.code);
            assert_eq!(found, expected, "{wanted}");
        }
        let hint = choose(&tokens, "cii").unwrap_err().hint.unwrap();
        assert_eq!(hint, "did you mean `ci`?");
    }

    #[test]
    fn a_list_tells_which_tokens_are_good() {
        let good = Wire { expires_at: Some(Time::from_millis(3 * DAY_MS)), ..token("tok_1", "a") };
        let revoked = Wire { revoked_at: Some(Time::from_millis(0)), ..good.clone() };
        for (token, now_ms, expected) in [
            (&good, 0, "3 days left"),
            (&good, 3 * DAY_MS, "expired"),
            (&revoked, 0, "revoked"),
            (&token("tok_2", "b"), 4 * DAY_MS, "never expires"),
        ] {
            assert_eq!(standing(token, now_ms).0, expected);
        }
    }

    #[test]
    fn what_is_told_of_a_new_token_is_not_its_secret() {
        let made = MadeToken { token: token("tok_1", "ci\u{1b}"), secret: "s3cret".to_owned() };
        let told = tell_made(&made, "http://127.0.0.1:8000");
        assert!(!told.contains("s3cret") && !told.contains('\u{1b}'), "{told}");
        for part in ["tok_1", "read", "for ever", "not shown again", "http://127.0.0.1:8000/api"] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }

    fn token(id: &str, name: &str) -> Wire {
        Wire {
            id: id.to_owned(),
            name: name.to_owned(),
            scope: TokenScope::Read,
            created_at: Time::from_millis(0),
            expires_at: None,
            revoked_at: None,
        }
    }
}
