//! Who may call which route: everybody there is, at every route of the OpenAPI document.

use std::collections::BTreeSet;

use cmux_core::principal::Need;
use serde_json::Value;

use crate::agent::Agent;
use crate::house::House;
use crate::knock::{Door, Request};

const STOP: &str = "/api/daemon/stop";

/// What somebody is taken for.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// One who may do what needs this, and no more.
    For(Need),
    /// One who may have what anybody may, and is told this otherwise.
    Not(u16, &'static str),
}

/// Somebody, and how they come.
struct Role {
    name: &'static str,
    taken: Taken,
    door: Door,
    /// The agent that started them, if one did.
    below: Option<Agent>,
    headers: Vec<(String, String)>,
    /// Whether they are taken for an agent.
    is_agent: bool,
}

/// A route, as the document tells of it.
struct Operation {
    method: String,
    path: String,
    need: Need,
    closed_to_agents: bool,
    has_body: bool,
    statuses: BTreeSet<u16>,
}

#[test]
fn everybody_may_call_exactly_the_routes_that_the_document_says() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let (agent, past) = (Agent::of(&project), Agent::of_the_past(&project));
    let house = past.enter(agent.enter(house, false), true);
    let operations = operations(&house, &project);
    assert!(operations.len() >= 20, "the document is not whole");
    let roles = [strangers(&house), scripts(&house), agents(&house, &agent, &past)];
    for role in roles.iter().flatten() {
        check(&house, role, &operations);
    }
}

#[test]
fn only_the_person_stops_the_daemon() {
    type Asks = fn(&House) -> (Door, Request);
    let asks: [(&str, Asks); 2] = [
        ("the person", |house| (house.socket(), Request::new("POST", STOP))),
        ("a browser", |house| {
            let request = Request::new("POST", STOP).with("Cookie", &house.cookie());
            (house.port(), request.with("Origin", &house.origin()))
        }),
    ];
    for (who, ask) in asks {
        let mut house = House::new();
        let (door, request) = ask(&house);
        assert_eq!(door.ask(&request).status, 202, "{who}");
        assert!(house.daemon.wait().success(), "{who}");
    }
}

#[test]
fn an_agent_that_hides_behind_its_forebears_is_not_taken_for_the_person() {
    let house = House::new();
    let project = house.projects(1).remove(0);
    let agent = Agent::of(&project);
    let house = agent.enter(house, false);
    let operate = house.token("operate", None).secret;
    let request = Request::new("DELETE", &format!("/api/projects/{project}")).with_token(&operate);
    for door in [house.port(), house.socket()] {
        let answer = agent.ask_from_afar(&house, &door, &request);
        assert_eq!((answer.status, answer.problem().as_str()), (403, "not-allowed"), "{door:?}");
    }
    let answer = agent.ask_from_afar(&house, &house.socket(), &Request::get("/api/status"));
    assert_eq!((answer.status, answer.problem().as_str()), (403, "stranger"));
    assert_eq!(house.port().ask(&request).status, 204);
}

/// Checks that `role` is let through where it may go, turned away elsewhere, and changes nothing there.
#[track_caller]
fn check(house: &House, role: &Role, operations: &[Operation]) {
    let may = |operation: &Operation| match role.taken {
        Taken::For(_) if role.is_agent && operation.closed_to_agents => false,
        Taken::For(most) => operation.need <= most,
        Taken::Not(..) => operation.need == Need::Nothing,
    };
    // To be let through there ends the daemon, and is seen by itself.
    let is_harmless = |operation: &&Operation| operation.path != STOP || !may(operation);
    let operations: Vec<&Operation> = operations.iter().filter(is_harmless).collect();
    let requests: Vec<Request> = operations.iter().map(|it| role.request(it)).collect();
    let (before, head) = (state(house), house.head());
    let answers = match &role.below {
        Some(agent) => agent.ask(house, &role.door, &requests),
        None => requests.iter().map(|request| role.door.ask(request)).collect(),
    };
    for (operation, answer) in operations.iter().zip(&answers) {
        let Operation { method, path, need, statuses, .. } = operation;
        let told = format!("{}: {method} {path} needs {need:?}: {answer:?}", role.name);
        if may(operation) {
            // Passwords may be tried a few times only, whoever tries.
            let is_paced = path == "/api/login" && answer.status == 429;
            let is_let_through = is_paced || !matches!(answer.status, 401 | 403 | 421 | 429 | 500);
            assert!(is_let_through && statuses.contains(&answer.status), "{told}");
        } else {
            assert_eq!((answer.status, answer.problem().as_str()), role.refusal(), "{told}");
            let is_told_how = answer.header("www-authenticate").is_some();
            assert_eq!(is_told_how, answer.status == 401, "{told}");
        }
    }
    assert_eq!(state(house), before, "{}", role.name);
    let is_person = matches!(role.taken, Taken::For(Need::Person));
    for kind in house.kinds(head) {
        let is_expected = kind == "door.refused" || (is_person && kind == "link.made");
        assert!(is_expected, "{} brought about {kind}", role.name);
    }
}

/// Returns all that a request might have changed.
fn state(house: &House) -> [Value; 3] {
    ["/api/projects", "/api/tokens", "/api/sessions"].map(|path| house.get(path))
}

impl Role {
    fn new(name: &'static str, taken: Taken, door: Door) -> Role {
        Role { name, taken, door, below: None, headers: Vec::new(), is_agent: false }
    }

    fn showing(mut self, name: &str, value: &str) -> Role {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with_token(self, secret: &str) -> Role {
        self.showing("Authorization", &format!("Bearer {secret}"))
    }

    fn below(self, agent: &Agent) -> Role {
        Role { below: Some(agent.clone()), ..self }
    }

    /// Returns the same as one who is taken for the agent.
    fn by_an_agent(self) -> Role {
        Role { is_agent: true, ..self }
    }

    /// Returns how it is turned away.
    fn refusal(&self) -> (u16, &'static str) {
        match self.taken {
            Taken::For(_) => (403, "not-allowed"),
            Taken::Not(status, slug) => (status, slug),
        }
    }

    /// Returns a request that is of no use to anybody, if it is let through.
    fn request(&self, operation: &Operation) -> Request {
        let request = Request::new(&operation.method, &operation.path);
        let request = if operation.has_body { request.with_json("{}") } else { request };
        self.headers.iter().fold(request, |request, (name, value)| request.with(name, value))
    }
}

/// Those who show nothing that is good.
fn strangers(house: &House) -> Vec<Role> {
    let role = |name, slug| Role::new(name, Taken::Not(401, slug), house.port());
    vec![
        role("nobody", "nobody-known"),
        role("one with a wrong token", "bad-credential").with_token("cmux_made-up"),
        role("one with an expired token", "expired-credential").with_token(&house.expired_token()),
        role("one with a revoked token", "revoked-credential").with_token(&house.revoked_token()),
        role("one with a wrong cookie", "bad-credential")
            .showing("Cookie", &format!("cmux_{}=cmuxweb_made-up", house.port))
            .showing("Origin", &house.origin()),
        Role::new("one with a wrong token", Taken::Not(401, "bad-credential"), house.socket())
            .with_token("cmux_made-up"),
    ]
}

/// The person and the person's scripts.
fn scripts(house: &House) -> Vec<Role> {
    let role = |name, need, door| Role::new(name, Taken::For(need), door);
    let mut roles = vec![
        role("the person", Need::Person, house.socket()),
        role("a browser", Need::Person, house.port())
            .showing("Cookie", &house.cookie())
            .showing("Origin", &house.origin()),
    ];
    for (scope, need) in [("read", Need::Read), ("send", Need::Send), ("operate", Need::Operate)] {
        let secret = house.token(scope, None).secret;
        roles.push(role(scope, need, house.port()).with_token(&secret));
        // Whoever shows a token is taken for no more than it says, at the socket too.
        roles.push(role(scope, need, house.socket()).with_token(&secret));
    }
    roles
}

/// An agent, in its own place and out of it.
fn agents(house: &House, agent: &Agent, past: &Agent) -> Vec<Role> {
    let known = |name, door| Role::new(name, Taken::For(Need::Send), door).below(agent);
    let not = |name, status, slug, door| Role::new(name, Taken::Not(status, slug), door);
    let out = |name, door| not(name, 401, "wrong-descent", door).with_token(agent.secret);
    let operate = house.token("operate", None).secret;
    vec![
        known("an agent", house.socket()).with_token(agent.secret).by_an_agent(),
        out("an agent's token at the port", house.port()),
        out("an agent at the port", house.port()).below(agent),
        out("an agent's token in the person's hands", house.socket()),
        out("an agent's token in another agent's hands", house.socket()).below(past),
        not("an agent whose run is over", 401, "expired-credential", house.socket())
            .with_token(past.secret)
            .below(past),
        not("an agent that shows nothing", 401, "agent-without-token", house.socket()).below(agent),
        known("an agent with the person's token", house.port()).with_token(&operate),
        known("an agent with the person's token", house.socket()).with_token(&operate),
        not("an agent with the person's cookie", 403, "agent-as-person", house.port())
            .showing("Cookie", &house.cookie())
            .showing("Origin", &house.origin())
            .below(agent),
    ]
}

/// Returns every route that the document tells of: to look at `project`, and to change what is not there.
fn operations(house: &House, project: &str) -> Vec<Operation> {
    let document = house.get("/api/openapi.json");
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, said) in methods.as_object().unwrap() {
            let id = if method == "get" { project } else { "nothing-there" };
            let need = said["x-cmux-needs"].as_str().unwrap();
            let statuses = said["responses"].as_object().unwrap().keys();
            operations.push(Operation {
                method: method.to_uppercase(),
                path: path.replace("{id}", id).replace("{source}", "nobody"),
                closed_to_agents: said["x-cmux-closed-to-agents"] == true,
                need: Need::ALL.into_iter().find(|it| it.name() == need).unwrap(),
                has_body: said.get("requestBody").is_some(),
                statuses: statuses.map(|status| status.parse().unwrap()).collect(),
            });
        }
    }
    operations
}
