/** Finds the questions to the person that are still open, which the log of today does not tell of. */

import { listMessages, type MessagesWanted } from "../api/routes";
import type { Message } from "../wire";
import { unanswered } from "./questions";
import type { Letter } from "./state";

/** How many pages are looked through: of what the person has not read, of what they were sent, of what they said. */
const UNREAD_PAGES = 10;
const SENT_PAGES = 3;
const SAID_PAGES = 5;

/** Returns the open questions, oldest first, as far as is looked back. */
export async function lookBack(): Promise<ReadonlyArray<Letter>> {
  const [unread, sent] = await Promise.all([
    pages({ to: "user", unread: true }, UNREAD_PAGES, ""),
    pages({ to: "user" }, SENT_PAGES, ""),
  ]);
  const all = new Map([...sent, ...unread].map((message) => [message.id, message]));
  const [oldest] = unanswered(all.values(), []);
  if (oldest === undefined) return [];
  return unanswered(all.values(), await pages({ from: "user" }, SAID_PAGES, oldest.at));
}

/** Returns what is wanted, newest first, in at most so many pages, and no further than to what is older than `since`. */
async function pages(wanted: MessagesWanted, most: number, since: string): Promise<Message[]> {
  const found: Message[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < most; page += 1) {
    const { messages, next } = await listMessages({ ...wanted, cursor });
    found.push(...messages);
    const last = messages.at(-1);
    if (next === null || last === undefined || last.created_at < since) break;
    cursor = next;
  }
  return found;
}
