//! Who is let in and what is delivered, in the story.

use cmux_core::digest::Digest;
use cmux_core::project::ProjectId;
use cmux_core::report::{Answer, Ask, Refused};
use cmux_core::session::{OverWhy, Session};
use cmux_core::token::TokenScope;
use cmux_core::webhook::Webhook;
use cmux_daemon::kernel::Denied;
use cmux_store::{links, payloads, sessions, tokens, webhooks};

use crate::World;

impl World {
    /// Whatever was lost between, each was let in once, the link was used once, and one body was told
    /// once.
    pub(crate) fn check_doors(&self) {
        let fault = self.fault;
        for (kind, times) in [
            ("token.created", 1),
            ("link.made", 1),
            ("session.opened", 1),
            ("link.reused", 1),
            ("session.over", 1),
            ("webhook.received", 1),
        ] {
            assert_eq!(self.rows(kind).len(), times, "{fault:?}: {kind}");
        }
        let token = self.read(|view| tokens::find_by_secret(view, &Digest::of(b"token"))).unwrap();
        self.check_answer(&create_token(), &Ok(Answer::Token(token)));
        let session = self.read(|view| sessions::find_by_secret(view, &Digest::of(b"browser")));
        let session = session.unwrap();
        assert_eq!(session.over.map(|over| over.why), Some(OverWhy::LinkReused), "{fault:?}");
        self.check_answer(&follow("thief"), &Ok(Answer::LinkReused { session: session.id }));
        let before = Session { over: None, ..session };
        self.check_answer(&follow("browser"), &Ok(Answer::Session(before)));
        // Its time is over, and nothing is left of it.
        assert_eq!(self.read(links::oldest), None, "{fault:?}");
        let received = &self.rows("webhook.received")[0];
        let body = self.read(|view| payloads::find(view, &received.payload.unwrap()));
        assert_eq!(body.as_deref(), Some(&b"body"[..]), "{fault:?}");
        let taken = self.read(|view| webhooks::find(view, "hub", "1")).unwrap();
        assert_eq!((taken.event, taken.digest), (received.id, Digest::of(b"body")), "{fault:?}");
        let duplicate = Answer::Webhook { event: received.id, duplicate: true };
        self.check_answer(&deliver("2", "body"), &Ok(duplicate));
        let conflict = Err(Denied::Refused(Refused::WebhookConflict));
        self.check_answer(&deliver("1", "other"), &conflict);
    }
}

pub(crate) fn create_token() -> Ask {
    let secret = Digest::of(b"token");
    Ask::CreateToken { secret, name: "ci".to_owned(), scope: TokenScope::Send, lasts: None }
}

pub(crate) fn follow(who: &str) -> Ask {
    Ask::FollowLink { link: Digest::of(b"link"), session: Digest::of(who.as_bytes()) }
}

pub(crate) fn deliver(delivery: &str, body: &str) -> Ask {
    let webhook = Webhook {
        is_name_signed: false,
        source: "hub".to_owned(),
        delivery: delivery.to_owned(),
        event: Some("push".to_owned()),
        project: Some(ProjectId::of("/a")),
        content_type: None,
        digest: Digest::of(body.as_bytes()),
        body: body.as_bytes().to_vec(),
    };
    Ask::TakeWebhook { webhook }
}
