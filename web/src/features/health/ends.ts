/** Which ends and starts of the last hour are shown. */

import type { Event } from "../../wire";
import { KEPT_MS } from "./series";

/** The kinds of events that tell of an end or a start that nobody wants to miss. */
export const END_KINDS = ["agent.exited", "tmux.lost", "daemon.started"] as const;

export type EndKind = (typeof END_KINDS)[number];

/** Returns the kinds that some of these events are of. */
export function kindsAmong(events: ReadonlyArray<Event>): EndKind[] {
  return END_KINDS.filter((kind) => events.some((event) => event.kind === kind));
}

export function isEnd({ kind }: Event): boolean {
  return END_KINDS.some((one) => one === kind);
}

/** How many are kept at most. */
export const ENDS_MAX = 1_000;

/** Returns the events of the last hour, newest first, each once, and no more than are kept. */
export function endsOf(events: ReadonlyArray<Event>, now: number): Event[] {
  const found = new Map<number, Event>();
  for (const event of events) {
    if (isEnd(event) && Date.parse(event.at) > now - KEPT_MS) found.set(event.id, event);
  }
  return [...found.values()].sort((one, other) => other.id - one.id).slice(0, ENDS_MAX);
}
