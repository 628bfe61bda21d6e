import { expect, test } from "vitest";
import type { Agent, Event, Project } from "../wire";
import { needs } from "./needs";
import { reduce, type Want, withLooked, withStatus } from "./reduce";
import { AT, agent, event, LATER, message, status } from "./samples";
import { begun, type FleetState, unreadCount } from "./state";

const START = begun(status(), []);
const LOOK: Want[] = [{ what: "agent", id: "agt_1" }];

/** Checks what an event changes of the one agent that there is, and what is asked for then. */
function check(happened: Event, change: Partial<Agent>, wants: Want[] = LOOK, before = {}): void {
  const start = begun(status({ agents: [agent(before)] }), []);
  const after = reduce(start, happened);
  expect(after.state.agents.get("agt_1")).toEqual(agent({ ...before, ...change }));
  expect(after.wants).toEqual(wants);
  expect(after.state.head).toBe(happened.id);
}

test("a phase is taken with its time and reason", () => {
  const data = { from: "idle", to: "asking", reason: "wants to run rm" };
  check(event("agent.phase", data), { phase: "asking", since: LATER, reason: "wants to run rm" });
  check(event("agent.phase", { to: "busy" }), { phase: "busy", since: LATER, reason: null });
  check(event("agent.phase", { to: "flying" }), {});
  const limited = { phase: "limited" as const };
  const until = { until: LATER };
  check(event("agent.phase", { to: "limited", ...until }), { ...limited, ...until, since: LATER });
  check(event("agent.phase", { to: "limited", ...until }), until, LOOK, limited);
  const after = { phase: "idle" as const, since: LATER, until: null };
  check(event("agent.phase", { to: "idle" }), after, LOOK, { ...limited, ...until });
});

test("what people want, what was used and the end of a process are taken", () => {
  const used = { ...agent().usage, tokens: 1200, cost_usd: 0.4 };
  check(event("agent.asked", { intent: "pause" }), { intent: "pause" });
  check(event("agent.asked", { intent: "dance" }), {});
  check(event("agent.used", { in_all: used }), { usage: used });
  check(event("agent.used", {}), {});
  check(event("agent.exited", { how: "exit 1" }), { pid: null });
  check(event("turn.started", { turn: "trn_1" }), {});
  check(event("hook.received", {}), {}, []);
});

test("a queue grows with what is new and shrinks with what is over", () => {
  const said = { message: "msg_1", to: "api", from: "user", attempts: 0 };
  check(event("message.queued", said), { queue: 1 });
  check(event("message.queued", { ...said, attempts: 1 }), { queue: 2 }, LOOK, { queue: 2 });
  for (const over of ["delivered", "failed", "cancelled", "expired"]) {
    check(event(`message.${over}`, said), { queue: 1 }, LOOK, { queue: 2 });
    check(event(`message.${over}`, said), { queue: 0 });
  }
  for (const way of ["typing", "submitted", "claimed", "in_doubt"]) {
    check(event(`message.${way}`, said), { queue: 2 }, LOOK, { queue: 2 });
  }
});

test("an agent that is new is asked for, and one that was removed is gone", () => {
  const spawned = reduce(START, event("agent.spawned", { name: "web" }, { agent: "agt_2" }));
  expect(spawned.wants).toEqual([{ what: "agent", id: "agt_2" }]);
  expect(reduce(START, event("agent.removed", { name: "api" })).state.agents.size).toBe(0);
  const lost = reduce(START, event("tmux.lost", { agents: ["agt_1", "agt_2"] }));
  expect(lost.wants.map((want) => want.what === "agent" && want.id)).toEqual(["agt_1", "agt_2"]);
});

test("an agent that is gone is not asked for, and no late answer brings it back", () => {
  const start = begun(status({ agents: [agent()] }), []);
  const { state } = reduce(start, event("agent.removed", {}));
  const late = { ...event("agent.phase", { to: "busy" }), id: state.head + 1 };
  expect(reduce(state, late).wants).toEqual([]);
  const all = { ...event("tmux.lost", { agents: ["agt_1", "agt_2"] }), id: state.head + 1 };
  expect(reduce(state, all).wants).toEqual([{ what: "agent", id: "agt_2" }]);
  expect(withLooked(state, agent()).agents.size).toBe(0);
  const older = status({ agents: [agent(), agent({ id: "agt_2" })] });
  expect([...withStatus(state, older).state.agents.keys()]).toEqual(["agt_2"]);
});

test("mail to the person is unread until it is read", () => {
  const said = { message: "msg_1", thread: "msg_1", to: "user", from: "api", kind: "question" };
  const queued = reduce(START, event("message.queued", said, { id: 11 })).state;
  expect(unreadCount(queued)).toBe(0);
  const arrived = reduce(queued, event("message.delivered", said, { id: 12 })).state;
  expect(unreadCount(arrived)).toBe(1);
  expect(needs(arrived).map((need) => need.what)).toEqual(["question"]);
  const read = reduce(arrived, event("message.read", { message: "msg_1" }, { id: 13 })).state;
  expect(unreadCount(read)).toBe(0);
  expect(needs(read).map((need) => need.what)).toEqual(["question"]);
});

test("what was unread before and is not known in detail is counted", () => {
  const mail = { ...status().mail, unread: 3 };
  const start = begun(status({ mail }), [message()]);
  expect(unreadCount(start)).toBe(3);
  const other = event("message.read", { message: "msg_9" });
  expect(unreadCount(reduce(start, other).state)).toBe(2);
});

test("projects come, go, and are missed", () => {
  const happens = (kind: string, data: unknown = {}, project = "shop-1", before = START) =>
    reduce(before, event(kind, data, { project, agent: null })).state.projects;
  const added = happens("project.added", { name: "blog", root: "/blog" }, "blog-2");
  expect([...added.keys()]).toEqual(["shop-1", "blog-2"]);
  expect(happens("project.removed").size).toBe(0);
  expect(happens("project.missing").get("shop-1")?.missing_since).toBe(LATER);
  const [project] = status().projects;
  if (project === undefined) throw new Error("there is one");
  const missing = begun(status({ projects: [{ ...project, missing_since: AT }] }), []);
  expect(happens("project.found", {}, "shop-1", missing).get("shop-1")?.missing_since).toBeNull();
});

test("a daemon that came back is asked how it is", () => {
  const started = event("daemon.started", {}, { agent: null, project: null });
  expect(reduce(START, started).wants).toEqual([{ what: "status" }]);
});

test("an event that is known already changes nothing", () => {
  for (const id of [1, 10]) {
    const again = reduce(START, event("agent.phase", { to: "busy" }, { id }));
    expect(again).toEqual({ state: START, wants: [] });
    expect(again.state).toBe(START);
  }
});

test("an answer that was overtaken by the log keeps the later phase", () => {
  const busy = reduce(START, event("agent.phase", { to: "busy" })).state;
  const late = withLooked(busy, agent({ pid: 99 })).agents.get("agt_1");
  expect(late).toEqual(agent({ pid: 99, phase: "busy", since: LATER }));
  const newer = withLooked(START, agent({ phase: "busy", since: LATER })).agents.get("agt_1");
  expect(newer?.phase).toBe("busy");
});

const [SHOP] = status().projects;
if (SHOP === undefined) throw new Error("there is one");
const BLOG = { ...SHOP, id: "blog-2", name: "blog" };

/** What is known after the log has told of 20 events: `agt_1` is busy and paused, `agt_0` and `blog-2` are gone. */
const KNOWN = [
  event("agent.phase", { to: "busy" }, { id: 15 }),
  event("agent.asked", { intent: "pause" }, { id: 16 }),
  event("agent.removed", {}, { id: 17, agent: "agt_0" }),
  event("project.removed", {}, { id: 18, agent: null, project: "blog-2" }),
  event("project.added", { name: "new" }, { id: 20, agent: null, project: "new-3" }),
].reduce(
  (state, happened) => reduce(state, happened).state,
  begun(status({ agents: [agent(), agent({ id: "agt_0" })], projects: [SHOP, BLOG] }), []),
);
const FROM_LOG = {
  intent: "pause",
  phase: "busy",
  since: LATER,
  reason: null,
} satisfies Partial<Agent>;
const ALL = [agent(), agent({ id: "agt_0" }), agent({ id: "agt_9" })];
const STATUS: Want[] = [{ what: "status" }];

/** A status, and what is left of it once it is taken. */
type Row = {
  name: string;
  head: number;
  agents: Agent[];
  projects: Project[];
  left: { agents: Record<string, Partial<Agent>>; projects: string[]; wants: Want[] };
};

test.each<Row>([
  {
    name: "an older one brings who is not known, undoes nothing, and is asked for again",
    head: 19,
    agents: ALL,
    projects: [SHOP, BLOG],
    left: { agents: { agt_1: FROM_LOG, agt_9: {} }, projects: ["shop-1", "new-3"], wants: STATUS },
  },
  {
    name: "an older one takes nobody away",
    head: 12,
    agents: [],
    projects: [],
    left: { agents: { agt_1: FROM_LOG }, projects: ["shop-1", "new-3"], wants: STATUS },
  },
  {
    name: "one as new as the log is taken, but for who is gone",
    head: 20,
    agents: [agent({ phase: "asking", since: LATER }), agent({ id: "agt_0" })],
    projects: [BLOG],
    left: { agents: { agt_1: { phase: "asking", since: LATER } }, projects: ["blog-2"], wants: [] },
  },
  {
    name: "a newer one without an agent and a project takes them away",
    head: 25,
    agents: [],
    projects: [SHOP],
    left: { agents: {}, projects: ["shop-1"], wants: [] },
  },
  {
    name: "a newer one keeps a phase that is later than its own",
    head: 25,
    agents: [agent({ pid: 99 })],
    projects: [SHOP],
    left: {
      agents: { agt_1: { pid: 99, phase: "busy", since: LATER } },
      projects: ["shop-1"],
      wants: [],
    },
  },
])("of a status, $name", ({ head, agents, projects, left }) => {
  const store = { ...status().store, head, bytes: 7 };
  const told = status({ store, agents, projects });
  const { state, wants } = withStatus(KNOWN, told);
  const expected = Object.entries(left.agents).map(([id, change]) => agent({ id, ...change }));
  expect([...state.agents.values()].sort(byId)).toEqual(expected);
  expect([...state.projects.keys()].sort()).toEqual([...left.projects].sort());
  expect(wants).toEqual(left.wants);
  expect(state.head).toBe(20);
  expect(state.store.bytes).toBe(7);
});

test.each([
  ["another log", "log_2"],
  ["a store that cannot be read", null],
])("of a status of %s, only how cmux itself is, is taken", (_, log) => {
  const store = { ...status().store, log, head: 99 };
  const daemon = { ...status().daemon, pid: 2 };
  const { state, wants } = withStatus(KNOWN, status({ store, daemon, agents: [], projects: [] }));
  expect(state).toEqual({ ...KNOWN, store, daemon });
  expect(wants).toEqual([]);
});

test("a project that is added again where it was is shown again", () => {
  const again = event("project.added", { name: "blog" }, { id: 21, project: "blog-2" });
  const { state } = reduce(KNOWN, again);
  for (const projects of [[], [SHOP, BLOG]]) {
    const { projects: shown } = withStatus(state, status({ projects })).state;
    expect([...shown.keys()].sort()).toEqual(["blog-2", "new-3", "shop-1"]);
  }
});

const byId = (one: { id: string }, other: { id: string }) => one.id.localeCompare(other.id);

test("who asks or has failed needs a person, unless they are stopped", () => {
  const named = (id: string, change: Partial<Agent>): Agent => agent({ id, ...change });
  const agents = [
    named("agt_1", { phase: "asking" }),
    named("agt_2", { phase: "failed" }),
    named("agt_3", { phase: "failed", intent: "stop" }),
    named("agt_4", { phase: "busy", queue: 2 }),
  ];
  const state: FleetState = begun(status({ agents }), []);
  expect(needs(state).map((need) => need.what)).toEqual(["asking", "failed"]);
});
