//! The list of all routes: how each is called, what it needs, and what it says.

use cmux_core::principal::Need;
use cmux_wire::agent::{self, Agent, Agents, NewAgent, Place, Register};
use cmux_wire::conversation::Conversation;
use cmux_wire::daemon::{DaemonStatus, Status, Stopping};
use cmux_wire::event::Events;
use cmux_wire::health::Health;
use cmux_wire::hook::{HookTaken, NewHook};
use cmux_wire::kind::Kinds;
use cmux_wire::link::Link;
use cmux_wire::message::{self, History, Message, Messages, NewMessage};
use cmux_wire::project::{self, NewProject, Project, Projects};
use cmux_wire::session::{self, Login, Session, Sessions};
use cmux_wire::store::{Archive, Audit, Backup, Check, NewArchive, NewBackup};
use cmux_wire::terminal::Terminal;
use cmux_wire::token::{self, MadeToken, NewToken, Tokens};
use cmux_wire::trust::{NewTrust, Trust};
use cmux_wire::vitals::Vitals;
use cmux_wire::webhook::WebhookTaken;
use cmux_wire::who::Whoami;
use cmux_wire::why::Why;
use serde_json::Value;

use crate::http::table::{Route, delete, get, post, show_document};
use crate::http::{
    agents, conversation, dashboard, events, health, history, hooks, kinds, messages, metrics,
    pages, projects, register, sessions, status, store, stream, terminal, tokens, trust, vitals,
    webhooks, whoami, why,
};

/// Returns every route there is.
pub(crate) fn all() -> Vec<Route> {
    [
        health_routes(),
        page_routes(),
        door_routes(),
        daemon_routes(),
        project_routes(),
        kind_routes(),
        agent_routes(),
        tend_routes(),
        view_routes(),
        mail_routes(),
        message_routes(),
        hook_routes(),
        log_routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn health_routes() -> Vec<Route> {
    vec![
        get("/livez", "isAlive", health::live)
            .needs(Need::Nothing)
            .says("Answers as long as the process can answer at all.")
            .answers_text(200, "text/plain", "It is alive."),
        get("/readyz", "isReady", health::ready)
            .needs(Need::Nothing)
            .says("Tells whether cmux is ready for traffic.")
            .answers_text(200, "text/plain", "It is ready.")
            .answers_text(503, "text/plain", "It is not, for this reason."),
        get("/api/webhooks/health", "showHealth", health::show)
            .needs(Need::Nothing)
            .says("Tells how each part of cmux is, within a second whatever is broken.")
            .answers::<Health>(200, "All is well.")
            .answers::<Health>(503, "Something is degraded, and this is what."),
        get("/metrics", "showMetrics", metrics::show)
            .needs(Need::Nothing)
            .says("Numbers for Prometheus.")
            .answers_text(200, "text/plain", "The numbers, in Prometheus' text format."),
        get("/api/openapi.json", "showDocument", show_document)
            .needs(Need::Nothing)
            .says("This document.")
            .answers::<Value>(200, "An OpenAPI 3.1 document."),
    ]
}

fn page_routes() -> Vec<Route> {
    vec![
        get("/", "showPage", dashboard::index)
            .needs(Need::Nothing)
            .says(
                "The dashboard. It is also at `/projects`, `/agents`, `/messages`, `/inbox`, `/activity`, \
                 `/health` and `/settings`, and at whatever is below them.",
            )
            .answers_text(200, "text/html", "A page for people.")
            .answers_nothing(304, "It is the one that was shown before."),
        get("/assets/{name}", "showAsset", dashboard::asset)
            .needs(Need::Nothing)
            .says("One of the files that the dashboard is made of.")
            .answers_text(200, "*/*", "The file."),
        get("/plain.css", "showStyle", pages::style)
            .needs(Need::Nothing)
            .says("How the page looks.")
            .answers_text(200, "text/css", "A style sheet."),
        get("/icon.svg", "showIcon", pages::icon)
            .needs(Need::Nothing)
            .says("The page's icon.")
            .answers_text(200, "image/svg+xml", "A picture."),
        get("/login.js", "showLoginScript", pages::login_script)
            .needs(Need::Nothing)
            .says("What the page that asks for a password does.")
            .answers_text(200, "text/javascript", "A script."),
        get("/login", "followLink", sessions::follow_link)
            .needs(Need::Nothing)
            .says("Exchanges a one-time link of `cmux open` for a cookie, or asks for a password.")
            .query::<sessions::Brought>()
            .answers_text(200, "text/html", "A page that asks for a password.")
            .answers_nothing(303, "Let in: the cookie is set, and the dashboard is at `/`.")
            .answers_text(410, "text/html", "The link is over.")
            .refuses(&[500, 507]),
    ]
}

fn door_routes() -> Vec<Route> {
    vec![
        post("/api/login", "logIn", sessions::log_in)
            .needs(Need::Nothing)
            .says("Lets a browser in that knows the password.")
            .takes::<Login>()
            .answers::<Session>(201, "Let in: the cookie is set.")
            .refuses(&[401, 429, 500, 507]),
        post("/api/password", "notePassword", sessions::password_changed)
            .needs(Need::Person)
            .says(
                "Takes note that the password was set or cleared, and puts out who came in by it.",
            )
            .answers_nothing(204, "It is noted."),
        post("/api/links", "makeLink", sessions::make_link)
            .needs(Need::Person)
            .says("Makes a link that lets a browser in, once and within two minutes.")
            .answers::<Link>(201, "The link. Whoever has it first is let in."),
        get("/api/sessions", "listSessions", sessions::list)
            .needs(Need::Person)
            .says("Lists the browsers that are in.")
            .pages(session::id())
            .answers::<Sessions>(200, "The browsers."),
        delete("/api/sessions/{id}", "closeSession", sessions::close)
            .needs(Need::Person)
            .names(session::id_or_current())
            .says(
                "Sends a browser away: the one that is named, or `current` for the one that asks.",
            )
            .answers_nothing(204, "It is out."),
        get("/api/tokens", "listTokens", tokens::list)
            .needs(Need::Person)
            .says("Lists tokens, without their secrets.")
            .pages(token::id())
            .answers::<Tokens>(200, "A page of tokens."),
        post("/api/tokens", "createToken", tokens::create)
            .needs(Need::Person)
            .says("Makes a token for a script.")
            .takes::<NewToken>()
            .answers::<MadeToken>(201, "The token and its secret, which is not said again."),
        delete("/api/tokens/{id}", "revokeToken", tokens::revoke)
            .needs(Need::Person)
            .names(token::id())
            .says("Revokes a token.")
            .answers_nothing(204, "It is good for nothing any more."),
        get("/api/whoami", "whoAmI", whoami::show)
            .needs(Need::Read)
            .says("Tells who you are to cmux, and what you may do.")
            .answers::<Whoami>(200, "Who you are."),
        post("/api/webhooks/{source}", "takeWebhook", webhooks::take)
            .needs(Need::Nothing)
            .says("Takes an event from outside, signed as GitHub or Standard Webhooks do.")
            .takes_signed()
            .answers::<WebhookTaken>(201, "It is stored.")
            .answers::<WebhookTaken>(200, "It had been stored before, and was not again.")
            .refuses(&[401, 409, 429, 500, 507]),
    ]
}

fn daemon_routes() -> Vec<Route> {
    vec![
        get("/api/status", "showStatus", status::show)
            .needs(Need::Read)
            .says("Everything at a glance.")
            .answers::<Status>(200, "How things are."),
        get("/api/daemon", "showDaemon", status::daemon)
            .needs(Need::Read)
            .says("The daemon itself.")
            .answers::<DaemonStatus>(200, "How it is."),
        get("/api/vitals", "showVitals", vitals::show)
            .needs(Need::Read)
            .closed_to_agents()
            .says("How cmux did over the last hour, in samples. It is not for agents.")
            .answers::<Vitals>(200, "The samples, oldest first."),
        post("/api/daemon/stop", "stopDaemon", status::stop)
            .needs(Need::Person)
            .says("Stops the daemon.")
            .answers::<Stopping>(202, "It stops."),
        get("/api/store/check", "checkStore", store::check)
            .needs(Need::Operate)
            .says("Checks the store from end to end.")
            .answers::<Check>(200, "What was found."),
        get("/api/store/audit", "auditLog", store::audit)
            .needs(Need::Operate)
            .says("Checks the log's chain of hashes.")
            .answers::<Audit>(200, "What was found."),
        post("/api/store/backups", "backUp", store::back_up)
            .needs(Need::Operate)
            .says("Copies the store into a file of the daemon's machine.")
            .takes::<NewBackup>()
            .answers::<Backup>(201, "The copy.")
            .refuses(&[422]),
        post("/api/store/archives", "archiveLog", store::archive)
            .needs(Need::Person)
            .says("Moves old events into a file of the daemon's machine.")
            .takes::<NewArchive>()
            .answers::<Archive>(201, "The file.")
            .refuses(&[404, 409, 422]),
    ]
}

fn project_routes() -> Vec<Route> {
    vec![
        get("/api/projects", "listProjects", projects::list)
            .needs(Need::Read)
            .says("Lists projects.")
            .pages(project::ID)
            .answers::<Projects>(200, "A page of projects."),
        post("/api/projects", "addProject", projects::add)
            .needs(Need::Operate)
            .says("Adds a folder as a project. To add it again changes nothing.")
            .takes::<NewProject>()
            .answers::<Project>(201, "The project, which is new.")
            .answers::<Project>(200, "The project, which was there already."),
        get("/api/projects/{id}", "showProject", projects::show)
            .needs(Need::Read)
            .names(project::ID)
            .says("One project.")
            .answers::<Project>(200, "The project."),
        delete("/api/projects/{id}", "removeProject", projects::remove)
            .needs(Need::Operate)
            .names(project::ID)
            .says("Forgets a project that has no agents. No file of it is touched.")
            .answers_nothing(204, "It is forgotten.")
            .refuses(&[409]),
        get("/api/projects/{id}/trust", "showTrust", trust::show)
            .needs(Need::Read)
            .names(project::ID)
            .says("What the person trusts of a project's own files, and of its folder.")
            .answers::<Trust>(200, "What is trusted, and what of the files acts."),
        post("/api/projects/{id}/trust", "trustProject", trust::approve)
            .needs(Need::Person)
            .names(project::ID)
            .says("Trusts files of a project as the person was shown them.")
            .takes::<NewTrust>()
            .answers::<Trust>(200, "What is trusted from now on.")
            .refuses(&[409]),
        delete("/api/projects/{id}/trust", "distrustProject", trust::take_back)
            .needs(Need::Person)
            .names(project::ID)
            .says("Takes back all that is trusted of a project. What runs already goes on.")
            .answers_nothing(204, "Nothing of it is trusted any more."),
    ]
}

fn agent_routes() -> Vec<Route> {
    vec![
        get("/api/agents", "listAgents", agents::list)
            .needs(Need::Read)
            .says("Lists agents: those of one project, or all.")
            .pages(agent::id())
            .query::<agents::Wanted>()
            .answers::<Agents>(200, "A page of agents.")
            .refuses(&[404]),
        post("/api/agents", "spawnAgent", agents::spawn)
            .needs(Need::Send)
            .says(
                "Launches an agent. An agent may do so in its own project, and others if they may \
                 operate. To ask for the same one again changes nothing.",
            )
            .takes::<NewAgent>()
            .answers::<Agent>(201, "The agent, which is new.")
            .answers::<Agent>(200, "The agent, which was there already.")
            .refuses(&[404, 409, 422]),
        post("/api/agents/register", "adoptAgent", register::adopt)
            .needs(Need::Person)
            .says(
                "Adopts a pane that a person started in a tmux of their own: it is watched over, and \
                 never launched. To ask for the same one again changes nothing.",
            )
            .takes::<Register>()
            .answers::<Agent>(201, "The agent, which is new.")
            .answers::<Agent>(200, "The agent, which was there already.")
            .refuses(&[404, 409, 422]),
        of_agent(get("/api/agents/{id}", "showAgent", agents::show))
            .needs(Need::Read)
            .says("One agent, by its id or by its name in a project.")
            .answers::<Agent>(200, "The agent."),
        of_agent(get("/api/agents/{id}/why", "explainAgent", why::show))
            .needs(Need::Read)
            .says("Tells which witness said what of an agent, and which of them decided.")
            .answers::<Why>(200, "Who said what."),
        of_agent(get("/api/agents/{id}/place", "placeAgent", agents::place))
            .needs(Need::Person)
            .says("Tells where in tmux an agent is, to whoever wants to go there.")
            .answers::<Place>(200, "Where it is.")
            .refuses(&[409]),
    ]
}

/// Returns what is asked of one agent by whoever may tend it: who may operate, and agents for those that
/// they launched.
fn tend_routes() -> Vec<Route> {
    let asked = |route: Route, says| {
        let route = of_agent(route).needs(Need::Send).says(says);
        route.answers::<Agent>(200, "The agent, as it is wanted from now on.").refuses(&[409])
    };
    vec![
        of_agent(delete("/api/agents/{id}", "removeAgent", agents::remove))
            .needs(Need::Send)
            .says(
                "Forgets an agent of which nothing runs, or one that was adopted, which goes on. An \
                 agent may do so to those that it launched.",
            )
            .answers_nothing(204, "It is forgotten.")
            .refuses(&[409]),
        asked(
            post("/api/agents/{id}/restart", "restartAgent", agents::restart),
            "Ends an agent's life, if it has one, and begins another. An agent may do so to those \
             that it launched.",
        ),
        asked(
            post("/api/agents/{id}/pause", "pauseAgent", agents::pause),
            "Leaves an agent as it is: nothing is delivered to it, and it is not brought back. An \
             agent may do so to those that it launched.",
        ),
        asked(
            post("/api/agents/{id}/resume", "resumeAgent", agents::resume),
            "Has an agent run: after a pause, a stop, or too many ends. An agent may do so to those \
             that it launched.",
        ),
        asked(
            post("/api/agents/{id}/interrupt", "interruptAgent", agents::interrupt),
            "Has an agent stop in what it does now. An agent may do so to those that it launched.",
        ),
        asked(
            post("/api/agents/{id}/stop", "stopAgent", agents::stop),
            "Ends an agent, and leaves it so. An agent may do so to those that it launched.",
        ),
    ]
}

fn view_routes() -> Vec<Route> {
    vec![
        get("/api/agents/{id}/terminal", "showTerminal", terminal::show)
            .names(agent::id_or_name())
            .query::<terminal::Wanted>()
            .needs(Need::Send)
            .says(
                "What is on an agent's screen, and what has scrolled off it. An agent may see those of \
                 whom it launched.",
            )
            .answers::<Terminal>(200, "The terminal.")
            .refuses(&[409]),
        get("/api/agents/{id}/terminal/ws", "followTerminal", terminal::follow)
            .names(agent::id_or_name())
            .query::<terminal::Following>()
            .needs(Need::Operate)
            .says(
                "An agent's terminal as a WebSocket: first the screen, then every byte as it comes. A \
                 person may type, with `{\"input\":\"…\"}` and `{\"resize\":[columns,rows]}`. The size is given \
                 back with `{\"restore\":true}`, and when the connection ends. Whenever it is another, the \
                 screen comes again.",
            )
            .answers_nothing(101, "A WebSocket. What is in binary messages is for a terminal.")
            .refuses(&[409, 426]),
    ]
}

fn mail_routes() -> Vec<Route> {
    vec![
        get("/api/messages", "listMessages", messages::list)
            .needs(Need::Read)
            .says("Lists messages, newest first. An agent is told of its own.")
            .query::<messages::Wanted>()
            .answers::<Messages>(200, "A page of messages. Of long ones, the beginning is there.")
            .refuses(&[404]),
        post("/api/messages", "sendMessage", messages::send)
            .needs(Need::Send)
            .says(
                "Sends a message to an agent or to the person. Once it is answered, it is stored. With the \
                 same key, the same message is sent once.",
            )
            .takes::<NewMessage>()
            .header("Idempotency-Key", "Works as `key`.", message::KEY)
            .answers::<Message>(201, "The message, which is new.")
            .answers::<Message>(200, "The message, which was sent before with the same key.")
            .refuses(&[404, 409]),
        get("/api/agents/{id}/history", "showHistory", history::show)
            .names(agent::id_or_name())
            .query::<history::Wanted>()
            .needs(Need::Read)
            .says(
                "An agent's messages, and its turns as far as the newest of its hooks tell; newest first. An \
                 agent may see its own.",
            )
            .answers::<History>(200, "A page of its history."),
        get("/api/agents/{id}/conversation", "showConversation", conversation::show)
            .names(agent::id_or_name())
            .query::<conversation::Wanted>()
            .needs(Need::Read)
            .says(
                "What was said in an agent's present conversation, as its CLI has written it down: the newest, or \
                 what came before; oldest first. An agent may see its own.",
            )
            .answers::<Conversation>(200, "A page of it, or why there is none.")
            .refuses(&[409]),
    ]
}

/// Returns what is asked of one message.
fn message_routes() -> Vec<Route> {
    let of = |route: Route, says| {
        let route = route.names(message::id()).says(says);
        route.answers::<Message>(200, "The message, as it is then.")
    };
    vec![
        of(
            get("/api/messages/{id}", "showMessage", messages::show),
            "One message, with all that it says. An agent may see those to it or from it.",
        )
        .needs(Need::Read),
        of(
            post("/api/messages/{id}/retry", "retryMessage", messages::retry),
            "Has a message read after all that failed, expired or was cancelled. It waits behind all others.",
        )
        .needs(Need::Send)
        .refuses(&[409]),
        of(
            post("/api/messages/{id}/cancel", "cancelMessage", messages::cancel),
            "Takes a message back that was not read. If it is being typed, it is waited up to two seconds for \
             whether that can be done.",
        )
        .needs(Need::Send)
        .refuses(&[409]),
        of(
            post("/api/messages/{id}/read", "readMessage", messages::read),
            "Takes note that the person has read a message to them.",
        )
        .needs(Need::Person)
        .refuses(&[409]),
    ]
}

/// Returns a route about one agent, by its id or by its name in a project.
fn of_agent(route: Route) -> Route {
    route.names(agent::id_or_name()).query::<agents::Where>()
}

fn kind_routes() -> Vec<Route> {
    vec![
        get("/api/kinds", "listKinds", kinds::list)
            .needs(Need::Read)
            .says("Lists the kinds of agents, and what was found of them on this machine.")
            .answers::<Kinds>(200, "All kinds."),
    ]
}

fn hook_routes() -> Vec<Route> {
    vec![
        post("/api/hooks", "takeHook", hooks::take)
            .needs(Need::Send)
            .says("Takes what an agent's hook was told. It is for agents alone, at the socket.")
            .takes::<NewHook>()
            .answers::<HookTaken>(201, "It is stored, and this is to be answered.")
            .answers::<HookTaken>(200, "It had been stored before, and was not again."),
    ]
}

fn log_routes() -> Vec<Route> {
    vec![
        get("/api/events", "listEvents", events::list)
            .needs(Need::Read)
            .says(
                "The log: the events after `since`, or the newest before `before`, or without either the newest; \
                 oldest first.",
            )
            .query::<events::Wanted>()
            .answers::<Events>(200, "A stretch of the log."),
        get("/api/ws", "followEvents", stream::follow)
            .needs(Need::Read)
            .says(
                "The log as a WebSocket: all events after `since`, then each new one as it comes; with \
                 `vitals`, how cmux does as well, which is not for agents.",
            )
            .query::<stream::Wanted>()
            .answers_nothing(101, "A WebSocket. Each message is an event or a notice.")
            .refuses(&[426]),
    ]
}
