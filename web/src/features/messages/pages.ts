/** What events and answers change in lists of messages that are at hand. Pure. */

import type { MessagesWanted } from "../../api/routes";
import { fields, number, text } from "../../feed/data";
import type { Agent, Event, Message, MessageState, Messages } from "../../wire";
import { isUnread, newestFirst, USER } from "./threads";

/** Lists in pages, as they were read. */
export type Pages = { pages: Messages[]; pageParams: Array<string | null> };

/** Something that was heard after a list was asked for. */
export type Change =
  | { what: "event"; event: Event }
  /** A message as the daemon answered it. */
  | { what: "message"; message: Message };

const STATES: Record<MessageState, true> = {
  queued: true,
  typing: true,
  submitted: true,
  claimed: true,
  delivered: true,
  failed: true,
  cancelled: true,
  expired: true,
  in_doubt: true,
};

export const MESSAGE_STATES = Object.keys(STATES) as MessageState[];

/** Returns the state that an event of a message tells, if it tells one. */
export function stateTold(kind: string): MessageState | null {
  const word = kind.startsWith("message.") ? kind.slice("message.".length) : "";
  return Object.hasOwn(STATES, word) ? (word as MessageState) : null;
}

/** Returns whether nothing more becomes of a message in this state by itself. */
export function isOver(state: MessageState): boolean {
  switch (state) {
    case "delivered":
    case "failed":
    case "cancelled":
    case "expired":
      return true;
    case "queued":
    case "typing":
    case "submitted":
    case "claimed":
    case "in_doubt":
      return false;
  }
}

/** Returns the message that an event is about. */
export function messageOf(event: Event): string | null {
  return event.kind.startsWith("message.") ? text(fields(event.data), "message") : null;
}

/** Returns who is to read the message that an event is about, as messages name them. */
export function toWhom(event: Event): string | null {
  return text(fields(event.data), "to");
}

/** Returns a message after an event about it. */
export function changed(message: Message, event: Event): Message {
  const data = fields(event.data);
  if (event.kind === "message.read") return { ...message, read_at: event.at };
  if (event.kind === "message.retried") {
    return { ...message, state: "queued", reason: null, waiting_for: null };
  }
  const state = stateTold(event.kind);
  if (state === null) return message;
  return {
    ...message,
    state,
    attempts: number(data, "attempts") ?? message.attempts,
    reason: text(data, "reason"),
    evidence: text(data, "evidence"),
    waiting_for: state === message.state ? message.waiting_for : null,
    delivered_at: state === "delivered" ? event.at : message.delivered_at,
  };
}

type AgentOf = (id: string) => Agent | undefined;

/** Returns whether a list of what is `wanted` has this message. */
export function fits(message: Message, wanted: MessagesWanted, agentOf: AgentOf): boolean {
  const { to, from, state, thread, project, unread } = wanted;
  if (thread !== undefined && message.thread !== thread) return false;
  if (project !== undefined && message.project !== project) return false;
  if (state !== undefined && message.state !== state) return false;
  if (unread === true && !isUnread(message)) return false;
  if (to !== undefined && !isCalled(message.to, message.project, to, agentOf)) return false;
  return from === undefined || isCalled(message.from, message.project, from, agentOf);
}

function isCalled(name: string, project: string, wanted: string, agentOf: AgentOf): boolean {
  if (name === wanted || wanted === USER) return name === wanted;
  const agent = agentOf(wanted);
  if (agent === undefined) return false;
  const [called, place = project] = name.split("@");
  return called === agent.name && place === agent.project;
}

/** Returns the pages after a change. They are the same ones if nothing in them is another. */
export function applied(
  pages: Pages,
  change: Change,
  wanted: MessagesWanted,
  agentOf: AgentOf,
): Pages {
  switch (change.what) {
    case "event": {
      const id = messageOf(change.event);
      return id === null
        ? pages
        : replaced(pages, id, (message) => changed(message, change.event), wanted, agentOf);
    }
    case "message": {
      const message = brief(change.message, wanted);
      const next = replaced(pages, message.id, (known) => kept(known, message), wanted, agentOf);
      if (next !== pages || holds(pages, message.id)) return next;
      return fits(message, wanted, agentOf) ? bounded(inserted(pages, message), wanted) : pages;
    }
  }
}

/** Returns a message as it was answered; where that has only the beginning of a body, what was known stays. */
function kept(known: Message, answered: Message): Message {
  if (!answered.body_cut || known.body_cut) return answered;
  return { ...answered, body: known.body, body_cut: false };
}

/** How many messages of a list are kept, and how many of a conversation, all of which are drawn. */
const LIST_MAX = 1_000;
const THREAD_MAX = 300;

/** Returns how many messages of what is wanted are kept. */
export function mostOf({ thread }: MessagesWanted): number {
  return thread === undefined ? LIST_MAX : THREAD_MAX;
}

/** Returns how many messages there are in all pages. */
export function countOf({ pages }: Pages): number {
  return pages.reduce((sum, { messages }) => sum + messages.length, 0);
}

/** Returns the pages with the newest of too many messages. There is no more to ask for then. */
export function bounded(list: Pages, wanted: MessagesWanted): Pages {
  let left = mostOf(wanted);
  if (countOf(list) <= left) return list;
  const pages: Messages[] = [];
  for (const page of list.pages) {
    if (left === 0) break;
    const messages = page.messages.slice(0, left);
    left -= messages.length;
    pages.push({ messages, next: left === 0 ? null : page.next });
  }
  return { pages, pageParams: list.pageParams.slice(0, pages.length) };
}

/** The longest body that a list tells, about as the daemon has it. */
const LISTED_MAX = 8 * 1024;

/** The longest body that a row needs, of which it shows a line. */
const ROW_MAX = 1024;

/** Returns a message with as much of what it says as a list tells. */
export function listed(message: Message): Message {
  return cut(message, LISTED_MAX);
}

/** Returns a message with as much of what it says as is kept of it: in a list of all mail, enough for a row. */
export function brief(message: Message, { thread }: MessagesWanted): Message {
  return thread === undefined ? cut(message, ROW_MAX) : message;
}

function cut(message: Message, most: number): Message {
  if (message.body.length <= most) return message;
  return { ...message, body: message.body.slice(0, most), body_cut: true };
}

/** Returns whether a message is in one of the pages. */
export function holds({ pages }: Pages, id: string): boolean {
  return pages.some(({ messages }) => messages.some((message) => message.id === id));
}

function replaced(
  list: Pages,
  id: string,
  change: (message: Message) => Message,
  wanted: MessagesWanted,
  agentOf: AgentOf,
): Pages {
  const at = list.pages.findIndex(({ messages }) => messages.some((one) => one.id === id));
  const page = list.pages[at];
  if (page === undefined) return list;
  const messages = page.messages
    .map((message) => (message.id === id ? change(message) : message))
    .filter((message) => message.id !== id || fits(message, wanted, agentOf));
  return { ...list, pages: list.pages.with(at, { ...page, messages }) };
}

/** Returns the pages with a new message in its place. One that belongs to a page that was not read is left out. */
function inserted(list: Pages, message: Message): Pages {
  const isBefore = (other: Message) => newestFirst(message, other) < 0;
  const at = list.pages.findIndex(({ messages, next }) => next === null || messages.some(isBefore));
  const page = list.pages[at];
  if (page === undefined) return list;
  const place = page.messages.findIndex(isBefore);
  const messages = page.messages.toSpliced(place === -1 ? page.messages.length : place, 0, message);
  return { ...list, pages: list.pages.with(at, { ...page, messages }) };
}
