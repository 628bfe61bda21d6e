import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Agent, Event, Notice, Status } from "../wire";
import { agent, event, status } from "./samples";
import type { News } from "./store";

type Answer = { status: number; body: unknown } | null;

/** What the daemon answers for each path; nothing if it is away. */
let answers: Map<string, () => Answer | Promise<Answer>>;
/** What it was asked. */
let asked: string[];
let wires: Wire[];
let heard: News[];
let ways: Map<string, () => void>;
let reloads: number;

class Wire {
  readonly path: string;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((close: { code: number }) => void) | null = null;
  isClosed = false;

  constructor(url: string) {
    this.path = url.slice(url.indexOf("/api"));
    wires.push(this);
  }

  close(): void {
    this.isClosed = true;
  }

  say(...said: ReadonlyArray<Event | Notice>): void {
    for (const one of said) this.onmessage?.({ data: JSON.stringify(one) });
  }
}

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers();
  answers = new Map();
  [asked, wires, heard, ways, reloads] = [[], [], [], new Map(), 0];
  vi.stubGlobal("WebSocket", Wire);
  vi.stubGlobal("location", {
    protocol: "http:",
    host: "127.0.0.1:8000",
    reload: () => {
      reloads += 1;
    },
  });
  const listen = (name: string, then: () => void) => ways.set(name, then);
  vi.stubGlobal("addEventListener", listen);
  vi.stubGlobal("document", { visibilityState: "visible", addEventListener: listen });
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const answer = await (answers.get(path) ?? (() => null))();
    if (answer === null) throw new TypeError("Failed to fetch");
    return new Response(JSON.stringify(answer.body), { status: answer.status });
  });
  knows(status());
  answers.set("/api/whoami", () => ok({}));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("it begins with the status, and follows the log from there", async () => {
  const { live, fleet } = await begun();
  expect(live()).toBe("starting");
  expect(wires.map(({ path }) => path)).toEqual(["/api/ws?since=10&log=log_1&vitals=true"]);
  now().say({ kind: "hello", log: "log_1", head: 11 });
  expect(live()).toBe("behind");
  now().say(event("agent.phase", { to: "busy" }));
  expect(live()).toBe("live");
  await passed(20);
  expect(fleet()?.agents.get("agt_1")?.phase).toBe("busy");
  expect(heard).toEqual([{ what: "events", events: [event("agent.phase", { to: "busy" })] }]);
});

test("a daemon that is away when the page is opened is asked until it is there", async () => {
  answers.clear();
  const { live } = await begun();
  await passed(3_000);
  expect(live()).toBe("reconnecting");
  expect(wires).toEqual([]);
  knows(status());
  await passed(1_000);
  now().say({ kind: "hello", log: "log_1", head: 10 });
  expect(live()).toBe("live");
});

test("a page that never gets its connection says so", async () => {
  const { live } = await begun();
  now().onclose?.({ code: 1006 });
  expect(live()).toBe("reconnecting");
  await passed(60_000);
  expect(live()).toBe("reconnecting");
  expect(wires.length).toBeGreaterThan(2);
  now().say({ kind: "hello", log: "log_1", head: 10 });
  expect(live()).toBe("live");
});

test.each<[string, Notice, string]>([
  ["is another one", { kind: "reset" }, "log_2"],
  ["has lost what was missed to an archive", { kind: "archived", through: 40 }, "log_1"],
])("a log that %s is begun anew", async (_, notice, log) => {
  const { live, fleet } = await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  const old = now();
  old.onclose?.({ code: 1006 });
  await passed(1_000);
  const store = { ...status().store, log, head: 50 };
  knows(status({ store, agents: [agent({ id: "agt_2" })] }));
  const meanwhile = now();
  meanwhile.say({ kind: "hello", log, head: 50 }, notice);
  expect(live()).toBe("behind");
  meanwhile.say(event("agent.phase", { to: "busy" }, { id: 41 }));
  await passed(0);
  expect(meanwhile.isClosed).toBe(true);
  expect(heard).toEqual([{ what: "reset" }]);
  expect([...(fleet()?.agents.keys() ?? [])]).toEqual(["agt_2"]);
  expect(now().path).toBe(`/api/ws?since=50&log=${log}&vitals=true`);
  now().say({ kind: "hello", log, head: 50 });
  expect(live()).toBe("live");
});

test("what could not be asked for while the daemon was killed is asked for once it is back", async () => {
  const { fleet } = await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  answers.clear();
  now().say(event("agent.spawned", { name: "web" }, { agent: "agt_2" }));
  now().onclose?.({ code: 1006 });
  await passed(20);
  expect(asked).toContain("/api/agents/agt_2");
  const store = { ...status().store, head: 11 };
  knows(status({ store, agents: [agent(), agent({ id: "agt_2" })] }));
  looksLike(agent({ id: "agt_2" }));
  await passed(1_000);
  expect(fleet()?.agents.has("agt_2")).toBe(false);
  now().say({ kind: "hello", log: "log_1", head: 11 });
  await passed(1_000);
  expect(fleet()?.agents.has("agt_2")).toBe(true);
  await passed(10_000);
  expect(asked.filter((path) => path === "/api/agents/agt_2").length).toBe(2);
});

test("a daemon that came back is asked how it is, though the log tells nothing of it", async () => {
  const { fleet } = await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  await passed(1_000);
  expect(asked.filter((path) => path === "/api/status").length).toBe(1);
  now().onclose?.({ code: 1006 });
  knows(status({ daemon: { ...status().daemon, safe_mode: "it ended too often" } }));
  await passed(1_000);
  now().say({ kind: "hello", log: "log_1", head: 10 });
  await passed(1_000);
  expect(fleet()?.daemon.safe_mode).toBe("it ended too often");
});

test("an agent that is not there is asked for once", async () => {
  await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  answers.set("/api/agents/agt_2", () => refused(404));
  now().say(event("agent.spawned", { name: "web" }, { agent: "agt_2" }));
  await passed(60_000);
  expect(asked.filter((path) => path === "/api/agents/agt_2")).toEqual(["/api/agents/agt_2"]);
});

test("a status that was overtaken by the log is asked for again, and undoes nothing", async () => {
  const { fleet } = await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  let answer: (given: Answer) => void = () => {};
  answers.set("/api/status", () => new Promise((then) => (answer = then)));
  now().say(event("daemon.started", {}, { id: 11, agent: null }));
  await passed(20);
  looksLike(agent({ id: "agt_2" }));
  now().say(event("agent.spawned", { name: "web" }, { id: 12, agent: "agt_2" }));
  await passed(20);
  const newer = status({
    store: { ...status().store, head: 12 },
    agents: [agent(), agent({ id: "agt_2" })],
    projects: [],
  });
  knows(newer);
  answer(ok(status({ store: { ...status().store, head: 11 } })));
  await passed(20);
  expect(fleet()?.agents.has("agt_2")).toBe(true);
  await passed(1_000);
  expect(fleet()?.agents.has("agt_2")).toBe(true);
  expect(fleet()?.projects.size).toBe(0);
});

test("a listener that fails loses nobody an event, nor what it leaves open", async () => {
  const reported: unknown[] = [];
  vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
  const { live, fleet, store } = await begun();
  store.onFleet(() => {
    throw new Error("no");
  });
  now().say({ kind: "hello", log: "log_1", head: 11 });
  looksLike(agent({ pid: 99, since: event("agent.phase").at }));
  now().say(event("agent.phase", { to: "idle" }));
  expect(live()).toBe("live");
  await passed(1_000);
  expect(heard.map(({ what }) => what)).toEqual(["events"]);
  expect(fleet()?.agents.get("agt_1")?.pid).toBe(99);
  expect(reported[0]).toEqual(new Error("no"));
});

test("who is signed out comes back when they look and are let in again", async () => {
  const { live } = await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  answers.set("/api/whoami", () => refused(401));
  now().onclose?.({ code: 1008 });
  expect(live()).toBe("signed-out");
  look();
  await passed(0);
  expect(reloads).toBe(0);
  expect(asked.at(-1)).toBe("/api/whoami");
  answers.set("/api/whoami", () => ok({}));
  look();
  await passed(0);
  expect(reloads).toBe(1);
});

test("who is let in is not asked who they are each time that they look", async () => {
  await begun();
  now().say({ kind: "hello", log: "log_1", head: 10 });
  look();
  await passed(0);
  expect(asked).not.toContain("/api/whoami");
  expect(reloads).toBe(0);
});

/** Begins to follow, and returns what can be seen of it. */
async function begun() {
  const follow = await import("./follow");
  const store = await import("./store");
  const { getLive } = await import("./live");
  store.onNews((news) => heard.push(news));
  follow.startFeed();
  await passed(0);
  return { live: () => getLive().is, fleet: store.getFleet, store };
}

/** Returns the connection that was opened last. */
function now(): Wire {
  const wire = wires.at(-1);
  if (wire === undefined) throw new Error("nothing is connected");
  return wire;
}

async function passed(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Has the person come back to the tab. */
function look(): void {
  ways.get("visibilitychange")?.();
}

function knows(said: Status): void {
  answers.set("/api/status", () => ok(said));
}

function looksLike(said: Agent): void {
  answers.set(`/api/agents/${said.id}`, () => ok(said));
}

function refused(status: number): Answer {
  return { status, body: { type: "about:blank", title: "No", status, detail: "no" } };
}

function ok(body: unknown): Answer {
  return { status: 200, body };
}
