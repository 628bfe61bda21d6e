/** Things to test with. */

import type { Agent, Event, Message, Status } from "../wire";

export const AT = "2026-01-01T10:00:00.000Z";
export const LATER = "2026-01-01T10:00:05.000Z";

const NO_USAGE = {
  tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: null,
  unpriced_tokens: 0,
};

export function agent(change: Partial<Agent> = {}): Agent {
  return {
    id: "agt_1",
    name: "api",
    project: "shop-1",
    role: "worker",
    kind: "demo",
    parent: null,
    intent: "run",
    phase: "idle",
    since: AT,
    until: null,
    reason: null,
    permanent: false,
    pid: 7,
    pane: "%1",
    run: "run_1",
    session_id: null,
    cwd: "/shop",
    started_at: AT,
    last_seen_at: AT,
    queue: 0,
    usage: NO_USAGE,
    ...change,
  };
}

export function status(change: Partial<Status> = {}): Status {
  return {
    daemon: {
      running: true,
      starting: false,
      ready: true,
      pid: 1,
      guard_pid: null,
      version: "0.1.0",
      port: 8000,
      address: null,
      home: "/home",
      started_at: AT,
      safe_mode: null,
    },
    store: {
      status: "healthy",
      why: null,
      log: "log_1",
      head: 10,
      bytes: 0,
      free_bytes: 0,
      last_snapshot_at: null,
      notices: [],
    },
    projects: [{ id: "shop-1", name: "shop", root: "/shop", created_at: AT, missing_since: null }],
    agents: [agent()],
    mail: {
      waiting: 0,
      oldest_at: null,
      unread: 0,
      counted: { attempts: 0, duplicates_blocked: 0, delivered: [], mean_ms: null },
    },
    usage: NO_USAGE,
    ...change,
  };
}

export function event(kind: string, data: unknown = {}, change: Partial<Event> = {}): Event {
  return {
    id: 11,
    v: 1,
    at: LATER,
    kind,
    project: "shop-1",
    agent: "agt_1",
    run: null,
    subject: null,
    cause: null,
    actor: "cmux",
    data,
    ...change,
  };
}

export function message(change: Partial<Message> = {}): Message {
  return {
    id: "msg_1",
    project: "shop-1",
    from: "api",
    to: "user",
    kind: "question",
    body: "Which one?",
    body_bytes: 10,
    body_cut: false,
    reply_to: null,
    thread: "msg_1",
    task: null,
    data: null,
    state: "delivered",
    waiting_for: null,
    attempts: 0,
    reason: null,
    evidence: "stored",
    created_at: AT,
    expires_at: null,
    delivered_at: AT,
    read_at: null,
    ...change,
  };
}
