//! Tokens: how scripts show who they are, and what each may do.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::digest::Digest;
use crate::id::TokenId;
use crate::time::Timestamp;

/// The longest name that is taken, in characters.
pub const NAME_MAX: usize = 64;

/// The longest that a token may be good for: ten years, leap days included.
pub const EXPIRES_MAX: Duration = Duration::from_hours(24 * 3_653);

/// What a token lets its holder do. Each lets do all that those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenScope {
    /// Look.
    Read,
    /// Send messages, too.
    Send,
    /// All that the operator may, short of what is for a person only.
    Operate,
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenScope::Read => "read",
            TokenScope::Send => "send",
            TokenScope::Operate => "operate",
        })
    }
}

/// Text that should have been a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope: it must be read, send or operate")]
pub struct BadScope(String);

impl FromStr for TokenScope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<TokenScope, BadScope> {
        match text {
            "read" => Ok(TokenScope::Read),
            "send" => Ok(TokenScope::Send),
            "operate" => Ok(TokenScope::Operate),
            _ => Err(BadScope(text.chars().take(NAME_MAX).collect())),
        }
    }
}

/// Something that a script shows to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub scope: TokenScope,
    pub secret: Digest,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Whether a token lets anybody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenStanding {
    Good,
    Expired { at: Timestamp },
    Revoked { at: Timestamp },
}

/// Why a token was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("the token's name must have 1 to {NAME_MAX} characters")]
    Name,
    #[error("the token's name has a character in it that cannot be seen")]
    Unprintable,
    #[error("the token would have expired already: give it a time that lies ahead")]
    ExpiresInThePast,
    #[error("the token would be good for more than ten years: give it less, or no end at all")]
    ExpiresTooLate,
    /// It is drawn by lot, so this is somebody's mistake.
    #[error("the token's secret belongs to another token: draw another")]
    SecretTaken,
}

impl Token {
    /// Returns a token as it is when it is first asked for.
    pub fn new(
        id: TokenId,
        name: &str,
        scope: TokenScope,
        secret: Digest,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Token, BadToken> {
        let name = name.trim();
        if !(1..=NAME_MAX).contains(&name.chars().count()) {
            return Err(BadToken::Name);
        }
        if name.chars().any(is_unseen) {
            return Err(BadToken::Unprintable);
        }
        if expires_at.is_some_and(|at| at <= now) {
            return Err(BadToken::ExpiresInThePast);
        }
        if expires_at.is_some_and(|at| at > now + EXPIRES_MAX) {
            return Err(BadToken::ExpiresTooLate);
        }
        let name = name.to_owned();
        Ok(Token { id, name, scope, secret, created_at: now, expires_at, revoked_at: None })
    }

    /// Returns the token if it is what somebody asks for who asks for it again.
    pub fn asked_again(
        self,
        name: &str,
        scope: TokenScope,
        lasts: Option<Duration>,
    ) -> Result<Token, BadToken> {
        let expires_at = lasts.map(|lasts| self.created_at + lasts);
        let is_same =
            self.name == name.trim() && self.scope == scope && self.expires_at == expires_at;
        if is_same { Ok(self) } else { Err(BadToken::SecretTaken) }
    }

    /// Returns whether the token lets anybody in at `now`.
    pub fn standing(&self, now: Timestamp) -> TokenStanding {
        match (self.revoked_at, self.expires_at) {
            (Some(at), _) => TokenStanding::Revoked { at },
            (None, Some(at)) if at <= now => TokenStanding::Expired { at },
            (None, Some(_) | None) => TokenStanding::Good,
        }
    }

    /// Returns the token as it is once it is revoked, unless it is already.
    pub fn revoke(&self, now: Timestamp) -> Option<Token> {
        match self.revoked_at {
            Some(_) => None,
            None => Some(Token { revoked_at: Some(now), ..self.clone() }),
        }
    }
}

/// Returns whether a character leaves no mark of its own, and could make one name look like another.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ulid::Ulid;

    const NOW: Timestamp = Timestamp(1_000);
    const LATER: Timestamp = Timestamp(2_000);

    #[test]
    fn a_token_has_a_name_that_can_be_read() {
        for (name, expected) in [
            ("ci", Ok("ci")),
            ("  nightly build ", Ok("nightly build")),
            ("Zürich ☃", Ok("Zürich ☃")),
            ("", Err(BadToken::Name)),
            ("   ", Err(BadToken::Name)),
            ("a\nb", Err(BadToken::Unprintable)),
            ("a\u{7f}b", Err(BadToken::Unprintable)),
            ("a\u{1b}[31mb", Err(BadToken::Unprintable)),
            ("a\u{202e}b", Err(BadToken::Unprintable)),
        ] {
            let made = new(name, None).map(|token| token.name);
            assert_eq!(made, expected.map(ToOwned::to_owned), "{name:?}");
        }
        assert!(new(&"ü".repeat(NAME_MAX), None).is_ok());
        assert_eq!(new(&"ü".repeat(NAME_MAX + 1), None), Err(BadToken::Name));
    }

    #[test]
    fn a_token_ends_in_a_future_that_can_be_foreseen() {
        for (expires_at, expected) in [
            (Timestamp(0), Some(BadToken::ExpiresInThePast)),
            (NOW, Some(BadToken::ExpiresInThePast)),
            (Timestamp(1_001), None),
            (NOW + EXPIRES_MAX, None),
            (NOW + EXPIRES_MAX + Duration::from_millis(1), Some(BadToken::ExpiresTooLate)),
            (Timestamp(i64::MAX), Some(BadToken::ExpiresTooLate)),
        ] {
            assert_eq!(new("x", Some(expires_at)).err(), expected, "{expires_at:?}");
        }
    }

    #[test]
    fn a_token_is_good_until_it_expires_or_is_revoked() {
        let revoked = TokenStanding::Revoked { at: NOW };
        for (expires_at, revoked_at, now, expected) in [
            (None, None, Timestamp(i64::MAX), TokenStanding::Good),
            (Some(LATER), None, Timestamp(1_999), TokenStanding::Good),
            (Some(LATER), None, LATER, TokenStanding::Expired { at: LATER }),
            (None, Some(NOW), NOW, revoked),
            (Some(LATER), Some(NOW), Timestamp(9_999), revoked),
        ] {
            let token = Token { expires_at, revoked_at, ..new("x", None).unwrap() };
            assert_eq!(token.standing(now), expected, "{token:?} at {now:?}");
        }
    }

    #[test]
    fn revoking_twice_is_revoking_once() {
        let revoked = new("x", None).unwrap().revoke(NOW).unwrap();
        assert_eq!(revoked.revoked_at, Some(NOW));
        assert_eq!(revoked.revoke(LATER), None);
    }

    #[test]
    fn who_asks_again_is_given_what_was_made_and_nothing_else() {
        let token = new("x", Some(LATER)).unwrap();
        let ask = |name, scope, lasts| token.clone().asked_again(name, scope, lasts);
        let (other, span) = (Err(BadToken::SecretTaken), Some(LATER.since(NOW)));
        assert_eq!(ask(" x ", TokenScope::Read, span), Ok(token.clone()));
        assert_eq!(ask("y", TokenScope::Read, span), other);
        assert_eq!(ask("x", TokenScope::Operate, span), other);
        assert_eq!(ask("x", TokenScope::Read, None), other);
    }

    #[test]
    fn a_scope_is_read_back_as_it_was_written_and_each_lets_do_more() {
        let scopes = [TokenScope::Read, TokenScope::Send, TokenScope::Operate];
        assert!(scopes.is_sorted());
        for scope in scopes {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        for text in ["", "Read", "admin"] {
            assert_eq!(text.parse::<TokenScope>(), Err(BadScope(text.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn whatever_name_is_taken_fits_on_a_line(name in any::<String>()) {
            if let Ok(token) = new(&name, None) {
                prop_assert!((1..=NAME_MAX).contains(&token.name.chars().count()));
                prop_assert!(!token.name.chars().any(char::is_control));
            }
        }
    }

    fn new(name: &str, expires_at: Option<Timestamp>) -> Result<Token, BadToken> {
        let id = TokenId::new(Ulid::from(1_u128));
        Token::new(id, name, TokenScope::Read, Digest::of(b"secret"), expires_at, NOW)
    }
}
