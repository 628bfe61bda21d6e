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

/** A message to the person, as far as the log tells of it. */
export type Letter = {
  id: string;
  thread: string;
  project: string | null;
  from: string;
  kind: MessageKind;
  at: Time;
  /** Whether the log has told of it since the page was opened. */
  isNews: boolean;
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
  /** Questions to the person that they have not answered, oldest first. */
  questions: ReadonlyMap<string, Letter>;
  /** Conversations in which the person has said something since. */
  answered: ReadonlySet<string>;
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
    questions: new Map(),
    answered: new Set(),
    health: null,
    vital: null,
  };
}

/** Returns what the log would tell of a message. */
export function letterOf(message: Message): Letter {
  const { id, thread, project, from, kind, created_at } = message;
  return { id, thread, project, from, kind, at: created_at, isNews: false };
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
