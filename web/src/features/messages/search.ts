/** What the addresses of mail hold. */

import { oneOf, word } from "../../shared/search";
import type { MessageState } from "../../wire";
import { MESSAGE_STATES } from "./pages";

export type MessagesSearch = {
  thread?: string | undefined;
  /** To or from this agent, by its id. */
  agent?: string | undefined;
  state?: MessageState | undefined;
  project?: string | undefined;
  /** The composer is open: to the agent with this id, or to nobody yet if it is `new`. */
  compose?: string | undefined;
};

export function messagesSearch(search: Record<string, unknown>): MessagesSearch {
  return {
    thread: word(search, "thread"),
    agent: word(search, "agent"),
    state: oneOf(search, "state", MESSAGE_STATES),
    project: word(search, "project"),
    compose: word(search, "compose"),
  };
}

export type InboxSearch = { thread?: string | undefined };

export function inboxSearch(search: Record<string, unknown>): InboxSearch {
  return { thread: word(search, "thread") };
}
