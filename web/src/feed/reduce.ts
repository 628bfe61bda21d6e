/** What each event changes. Pure: the same state and event give the same state. */

import type { Agent, Event, Project, Status } from "../wire";
import { type Data, fields, isIntent, isMessageKind, isPhase, number, text, usage } from "./data";
import { answered, asked, unsaid } from "./questions";
import { begun, type FleetState, type Letter } from "./state";

/** What an event leaves open, and the daemon has to be asked for. */
export type Want = { what: "agent"; id: string } | { what: "status" } | { what: "questions" };

export type Reduced = { state: FleetState; wants: Want[] };

/** The person, as messages name them. */
const USER = "user";

/** Returns the state after an event. One that is in it already changes nothing. */
export function reduce(state: FleetState, event: Event): Reduced {
  if (event.id <= state.head) return { state, wants: [] };
  const next = { ...state, head: event.id };
  const data = fields(event.data);
  const noun = event.kind.slice(0, event.kind.indexOf("."));
  switch (noun) {
    case "agent":
    case "turn":
      return ofAgent(next, event, data);
    case "message":
      return ofMessage(next, event, data);
    case "project":
      return { state: ofProject(next, event, data), wants: [] };
    case "tmux":
      return { state: next, wants: agents(data).flatMap((id) => looks(next, id)) };
    case "daemon":
    case "store":
    case "snapshot":
      return { state: next, wants: [{ what: "status" }] };
    default:
      return { state: next, wants: [] };
  }
}

function ofAgent(state: FleetState, event: Event, data: Data): Reduced {
  const id = event.agent;
  if (id === null) return { state, wants: [] };
  if (event.kind === "agent.removed") return { state: without(state, id), wants: [] };
  const agent = state.agents.get(id);
  const wants = looks(state, id);
  if (agent === undefined) return { state, wants };
  return { state: withAgent(state, changed(agent, event, data)), wants };
}

/** Returns what is asked for when an agent may have changed. */
function looks(state: FleetState, id: string): Want[] {
  return state.gone.has(id) ? [] : [{ what: "agent", id }];
}

/** Returns an agent as an event about it leaves it. What is not told here is asked for. */
function changed(agent: Agent, event: Event, data: Data): Agent {
  switch (event.kind) {
    case "agent.phase": {
      const phase = text(data, "to");
      if (!isPhase(phase)) return agent;
      // It may only be known now until when it is in the phase that it was in.
      const since = phase === agent.phase ? agent.since : event.at;
      return { ...agent, phase, since, until: text(data, "until"), reason: text(data, "reason") };
    }
    case "agent.asked": {
      const intent = text(data, "intent");
      return isIntent(intent) ? { ...agent, intent } : agent;
    }
    case "agent.used": {
      const inAll = usage(data["in_all"]);
      return inAll === null ? agent : { ...agent, usage: inAll };
    }
    case "agent.exited":
      return { ...agent, pid: null };
    default:
      return agent;
  }
}

function ofMessage(state: FleetState, event: Event, data: Data): Reduced {
  const id = text(data, "message");
  if (id === null) return { state, wants: [] };
  if (event.kind === "message.read") return { state: read(state, id), wants: [] };
  if (text(data, "to") === USER) return { state: arrived(state, event, id, data), wants: [] };
  if (text(data, "from") !== USER) return ofQueue(state, event, data);
  const said = ofPerson(state, event.kind, data);
  const { state: next, wants } = ofQueue(said.state, event, data);
  return { state: next, wants: [...said.wants, ...wants] };
}

function ofQueue(state: FleetState, event: Event, data: Data): Reduced {
  const agent = event.agent === null ? undefined : state.agents.get(event.agent);
  if (agent === undefined) return { state, wants: [] };
  const queue = Math.max(0, agent.queue + queued(event.kind, data));
  const wants = looks(state, agent.id);
  return { state: queue === agent.queue ? state : withAgent(state, { ...agent, queue }), wants };
}

/** What the person says answers what they were asked in that conversation, unless it comes to nothing. */
function ofPerson(state: FleetState, kind: string, data: Data): Reduced {
  const thread = text(data, "thread");
  const change = queued(kind, data);
  if (thread === null || change === 0 || kind === "message.delivered") return { state, wants: [] };
  if (change > 0) return { state: answered(state, thread), wants: [] };
  return { state: unsaid(state, thread), wants: [{ what: "questions" }] };
}

/** Returns by how many messages a queue is longer after a message's event. */
function queued(kind: string, data: Data): number {
  switch (kind) {
    case "message.queued":
      // One that is given back after it was typed has been counted.
      return number(data, "attempts") === 0 ? 1 : 0;
    case "message.delivered":
    case "message.failed":
    case "message.cancelled":
    case "message.expired":
      return -1;
    default:
      return 0;
  }
}

/** Returns the state with a message that the person has not read. */
function arrived(state: FleetState, event: Event, id: string, data: Data): FleetState {
  if (event.kind !== "message.delivered" || state.unread.has(id)) return state;
  const kind = text(data, "kind");
  const letter: Letter = {
    id,
    thread: text(data, "thread") ?? id,
    project: event.project,
    from: text(data, "from") ?? "",
    kind: isMessageKind(kind) ? kind : "status",
    at: event.at,
    isNews: true,
  };
  const next = { ...state, unread: new Map(state.unread).set(id, letter) };
  return kind === "question" ? asked(next, letter) : next;
}

/** Returns the state without a message that the person has read. */
function read(state: FleetState, id: string): FleetState {
  if (!state.unread.has(id)) {
    return { ...state, unreadBesides: Math.max(0, state.unreadBesides - 1) };
  }
  const unread = new Map(state.unread);
  unread.delete(id);
  return { ...state, unread };
}

function ofProject(state: FleetState, event: Event, data: Data): FleetState {
  const id = event.project;
  if (id === null) return state;
  const known = state.projects.get(id);
  switch (event.kind) {
    case "project.added": {
      const [name, root] = [text(data, "name") ?? id, text(data, "root") ?? ""];
      const added = { id, name, root, created_at: event.at, missing_since: null };
      return withProject(state, added);
    }
    case "project.removed": {
      const projects = new Map(state.projects);
      projects.delete(id);
      return { ...state, projects, gone: new Set(state.gone).add(id) };
    }
    case "project.missing":
      return known ? withProject(state, { ...known, missing_since: event.at }) : state;
    case "project.found":
      return known ? withProject(state, { ...known, missing_since: null }) : state;
    default:
      return state;
  }
}

function agents(data: Data): string[] {
  const ids = data["agents"];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

function withProject(state: FleetState, project: Project): FleetState {
  return { ...state, projects: new Map(state.projects).set(project.id, project) };
}

/**
 * Returns the state with an agent as the daemon was asked for it. If the log has told of a later phase
 * meanwhile, that stays.
 */
export function withLooked(state: FleetState, looked: Agent): FleetState {
  if (state.gone.has(looked.id)) return state;
  return withAgent(state, later(state.agents.get(looked.id), looked));
}

/** Returns an agent as it was looked at, in the phase that is known of it if that is a later one. */
function later(known: Agent | undefined, looked: Agent): Agent {
  if (known === undefined || known.since <= looked.since) return looked;
  const { phase, since, until, reason } = known;
  return { ...looked, phase, since, until, reason };
}

function withAgent(state: FleetState, agent: Agent): FleetState {
  if (state.agents.get(agent.id) === agent) return state;
  return { ...state, agents: new Map(state.agents).set(agent.id, agent) };
}

/** Returns the state without an agent that was forgotten. Its id is never another's. */
export function without(state: FleetState, id: string): FleetState {
  const agents = new Map(state.agents);
  agents.delete(id);
  return { ...state, agents, gone: new Set(state.gone).add(id) };
}

/**
 * Returns the state with what a status tells and the log does not. One that is older than the log is here brings
 * what is not known yet, undoes nothing, and is asked for again. One of another log, or of a store that cannot be
 * read, tells only how cmux itself is.
 */
export function withStatus(state: FleetState, status: Status): Reduced {
  const { daemon, store, log, head, projects, agents } = begun(status, []);
  const next = { ...state, daemon, store };
  if (log !== state.log) return { state: next, wants: [] };
  const isHere = ([id]: [string, unknown]) => !state.gone.has(id);
  if (head < state.head) {
    next.agents = new Map([...[...agents].filter(isHere), ...state.agents]);
    next.projects = new Map([...[...projects].filter(isHere), ...state.projects]);
    return { state: next, wants: [{ what: "status" }] };
  }
  // What is gone here may be so before the log tells of it.
  next.agents = new Map(
    [...agents].filter(isHere).map(([id, agent]) => [id, later(state.agents.get(id), agent)]),
  );
  return { state: { ...next, projects }, wants: [] };
}
