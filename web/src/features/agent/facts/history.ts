/** Reads an agent's history, in which messages and turns are told together. */

import type { History, Turn } from "../../../wire";

/** Returns the turns of some pages, newest first, each once. */
export function turnsOf(pages: ReadonlyArray<History>): Turn[] {
  const found = new Map<string, Turn>();
  for (const moment of pages.flatMap(({ history }) => history)) {
    if (moment.what === "turn" && !found.has(moment.id)) found.set(moment.id, moment);
  }
  return [...found.values()];
}

/** Returns the thread of each message in some pages. */
export function threadsOf(pages: ReadonlyArray<History>): Map<string, string> {
  const found = new Map<string, string>();
  for (const moment of pages.flatMap(({ history }) => history)) {
    if (moment.what === "message") found.set(moment.id, moment.thread);
  }
  return found;
}
