/** Mail by conversation: which there are, in which order, and who is in one. Pure. */

import { counted } from "../../shared/format";
import type { Agent, Message } from "../../wire";

/** The person, as messages name them. */
export const USER = "user";

/** What cmux itself says is from. */
export const CMUX = "cmux";

/** A conversation, as far as it is at hand. */
export type Thread = {
  id: string;
  newest: Message;
  /** The newest first. */
  messages: ReadonlyArray<Message>;
  /** How many of them the person has not read. */
  unread: number;
  /** Whether a question in it waits for the person's answer. */
  asks: boolean;
};

/** Returns whether a message is to the person, and they have not read it. */
export function isUnread(message: Message): boolean {
  return message.to === USER && message.state === "delivered" && message.read_at === null;
}

/** Orders messages, the newest first. */
export function newestFirst(one: Message, other: Message): number {
  if (one.created_at !== other.created_at) return one.created_at < other.created_at ? 1 : -1;
  return one.id < other.id ? 1 : one.id > other.id ? -1 : 0;
}

/**
 * Returns the conversations that messages belong to, the one with the newest message first. `open` are the questions
 * that wait for an answer.
 */
export function threadsOf(
  messages: ReadonlyArray<Message>,
  open: ReadonlySet<string> = new Set(),
): Thread[] {
  const byThread = new Map<string, Message[]>();
  for (const message of [...messages].sort(newestFirst)) {
    const known = byThread.get(message.thread);
    if (known === undefined) byThread.set(message.thread, [message]);
    else known.push(message);
  }
  return [...byThread].flatMap(([id, known]) => {
    const newest = known[0];
    if (newest === undefined) return [];
    const unread = known.filter(isUnread).length;
    return [{ id, newest, messages: known, unread, asks: known.some((one) => open.has(one.id)) }];
  });
}

/**
 * Returns how many messages a conversation has: so many, or at least so many. All are at hand if nothing is left out
 * of what is listed (`isOfAll`) and the one that began it is there.
 */
export function lengthOf({ id, messages }: Thread, isOfAll: boolean): string {
  const isWhole = isOfAll && messages.some((message) => message.id === id);
  return isWhole ? counted(messages.length, "message") : `${messages.length}+ messages`;
}

/** A list that is read in pages, and whether there is more of it. */
export type Stretch = { messages: ReadonlyArray<Message>; hasMore: boolean };

/**
 * Returns several lists as one, the newest first and each message once. What is older than the end of a list
 * that goes on is left out: something of that list may belong before it.
 */
export function merged(stretches: ReadonlyArray<Stretch>): Message[] {
  const all = new Map<string, Message>();
  for (const { messages } of stretches) {
    for (const message of messages) all.set(message.id, message);
  }
  const ends = stretches.flatMap(({ messages, hasMore }) => (hasMore ? messages.slice(-1) : []));
  const end = ends.sort(newestFirst)[0];
  const sorted = [...all.values()].sort(newestFirst);
  return end === undefined ? sorted : sorted.filter((one) => newestFirst(one, end) <= 0);
}

export type Section = "questions" | "unread" | "rest";

/** Returns where in the inbox a conversation is. */
export function sectionOf(thread: Thread): Section {
  if (thread.asks) return "questions";
  return thread.unread > 0 ? "unread" : "rest";
}

export type Line =
  /** How many are below it, without those that are only held there. */
  | { what: "heading"; key: Section; section: Section; count: number }
  | { what: "thread"; key: string; thread: Thread };

const SECTIONS: ReadonlyArray<Section> = ["questions", "unread", "rest"];

/** Returns where a conversation is held that belongs elsewhere by now: only what wants more of the person moves it. */
export function heldIn(held: Section | undefined, section: Section): Section {
  if (held === undefined) return section;
  return SECTIONS.find((one) => one === held || one === section) ?? section;
}

/**
 * Returns the lines of the inbox: questions, what else is unread, the rest. What is in `held` stays where it was
 * when it was opened, so that nothing jumps away under the one who reads it.
 */
export function inboxLines(
  threads: ReadonlyArray<Thread>,
  held: ReadonlyMap<string, Section>,
): Line[] {
  const places = new Map(
    threads.map((thread) => [thread.id, held.get(thread.id) ?? sectionOf(thread)]),
  );
  return SECTIONS.flatMap((section): Line[] => {
    const here = threads.filter(({ id }) => places.get(id) === section);
    if (here.length === 0) return [];
    const isRest = section === "rest";
    const count = here.filter((thread) => isRest || sectionOf(thread) === section).length;
    const heading: Line = { what: "heading", key: section, section, count };
    return [heading, ...here.map((thread): Line => ({ what: "thread", key: thread.id, thread }))];
  });
}

/** Returns what a message says as a person reads it: where cmux tells of another message, its id is no news. */
export function inWords({ from, body }: Pick<Message, "from" | "body">): string {
  return from === CMUX ? body.replace(/\b(message) msg_[0-9A-Z]{26}\b/g, "$1") : body;
}

/** Returns the first line of a text that says something, without the marks of Markdown before it. */
export function firstLine(body: string): string {
  for (const line of body.slice(0, 2_000).split("\n")) {
    const said = line.replace(/^[\s#>*`~|=-]+/, "").trim();
    if (said !== "") return said.replace(/\*\*|`/g, "");
  }
  return body.trim() === "" ? "(empty)" : body.trim().slice(0, 80);
}

/** Returns the agent that a message calls `name`: of its own project, or as `name@project`. */
export function agentCalled(
  agents: Iterable<Agent>,
  name: string,
  project: string,
): Agent | undefined {
  const [called = "", place = project] = name.split("@");
  for (const agent of agents) {
    if (agent.name === called && agent.project === place) return agent;
  }
  return undefined;
}

/** Somebody in a conversation to whom the person can write, and the message that is answered then. */
export type Partner = { agent: Agent; replyTo: string };

/** Returns those agents in a conversation that there still are, whoever spoke last first. */
export function partners(
  messages: ReadonlyArray<Message>,
  agents: ReadonlyArray<Agent>,
): Partner[] {
  const found = new Map<string, Partner>();
  const add = (name: string, { id, project }: Message) => {
    const agent = name === USER ? undefined : agentCalled(agents, name, project);
    if (agent !== undefined && !found.has(agent.id)) found.set(agent.id, { agent, replyTo: id });
  };
  const sorted = [...messages].sort(newestFirst);
  for (const message of sorted) add(message.from, message);
  for (const message of sorted) add(message.to, message);
  return [...found.values()];
}

/** Whom the person means to answer, by their ids: the one that the answer was begun to, and the one chosen before. */
export type Meant = { begun: string | null; chosen: string | null };

/**
 * Returns who is answered: for as long as an answer is written the one it was begun to, whoever speaks meanwhile, and
 * nobody if they are gone; otherwise the one who was chosen, or else the one who spoke last.
 */
export function answered(
  others: ReadonlyArray<Partner>,
  { begun, chosen }: Meant,
): Partner | undefined {
  const called = (id: string) => others.find(({ agent }) => agent.id === id);
  if (begun !== null) return called(begun);
  return (chosen === null ? undefined : called(chosen)) ?? others[0];
}
