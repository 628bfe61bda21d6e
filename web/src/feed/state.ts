/** What is known of the fleet: a start from the daemon's status, carried on by events. */

import type {
  Agent,
  DaemonStatus,
  Health,
  Message,
  MessageKind,
  Project,
  Status,
  StoreStatus,
  Time,
  Vital,
} from "../wire";

/** A message to the person that they have not read, as far as the log tells of it. */
export type Letter = {
  id: string;
  thread: string;
  project: string | null;
  from: string;
  kind: MessageKind;
  at: Time;
};

export type FleetState = {
  log: string;
  /** The newest event that is in here. */
  head: number;
  daemon: DaemonStatus;
  store: StoreStatus;
  projects: ReadonlyMap<string, Project>;
  agents: ReadonlyMap<string, Agent>;
  /** Agents and projects that were forgotten since. An answer may still tell of one; no such agent is asked for. */
  gone: ReadonlySet<string>;
  /** What the person has not read, oldest first. */
  unread: ReadonlyMap<string, Letter>;
  /** How many there are besides those, which were too many to ask for. */
  unreadBesides: number;
  health: Health | null;
  /** How cmux was when it last told. */
  vital: Vital | null;
};

/** Returns the state to begin with. */
export function begun(status: Status, unread: ReadonlyArray<Message>): FleetState {
  const letters = unread.map(letterOf).reverse();
  return {
    log: status.store.log ?? "",
    head: status.store.head,
    daemon: status.daemon,
    store: status.store,
    projects: new Map(status.projects.map((project) => [project.id, project])),
    agents: new Map(status.agents.map((agent) => [agent.id, agent])),
    gone: new Set(),
    unread: new Map(letters.map((letter) => [letter.id, letter])),
    unreadBesides: Math.max(0, status.mail.unread - letters.length),
    health: null,
    vital: null,
  };
}

function letterOf(message: Message): Letter {
  const { id, thread, project, from, kind, created_at } = message;
  return { id, thread, project, from, kind, at: created_at };
}

/** Returns whether cmux itself does not do all that it is there for. */
export function isTroubled({ daemon, store, health }: FleetState): boolean {
  // The status tells of the store as it was; the health is told every few seconds.
  const condition = health?.status ?? store.status;
  return daemon.safe_mode !== null || condition === "degraded";
}

/** Returns how many messages the person has not read. */
export function unreadCount(state: FleetState): number {
  return state.unread.size + state.unreadBesides;
}
