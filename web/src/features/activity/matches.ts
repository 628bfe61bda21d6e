/** The events that a filter leaves, oldest first, read backwards from the newest a page at a time. Pure. */

import type { Event, Events } from "../../wire";

export const MATCHES_PAGE = 200;

/** How many are kept at most; whoever wants older ones narrows the filter. */
export const MATCHES_MAX = 10_000;

export type Matches = {
  events: ReadonlyArray<Event>;
  /** Where to go on looking: before this event. Nothing if the log's beginning was reached. */
  next: number | null;
  /** How far back was looked. */
  scannedFrom: number;
  /** How many were put before those that were there first. */
  origin: number;
};

/** Returns what there is before anything was looked at, in a log whose newest event is `head`. */
export function noMatches(head: number): Matches {
  return { events: [], next: head + 1, scannedFrom: head + 1, origin: 0 };
}

/** Returns the matches with an answer to what is before them. */
export function withOlder(matches: Matches, answer: Events): Matches {
  const oldest = matches.events[0]?.id ?? Number.POSITIVE_INFINITY;
  const older = answer.events.filter(({ id }) => id < oldest);
  const events = [...older, ...matches.events];
  const next = events.length >= MATCHES_MAX ? null : nextOf(answer);
  const scannedFrom = next ?? older[0]?.id ?? matches.scannedFrom;
  return { events, next, scannedFrom, origin: matches.origin + older.length };
}

/** Returns where to go on: as far as was looked, unless that is the beginning. */
function nextOf({ events, scanned_from }: Events): number | null {
  if (scanned_from === null) return null;
  const from = Math.min(scanned_from, events[0]?.id ?? scanned_from);
  return from > 1 ? from : null;
}

/** Returns the matches with new ones, each once. Of too many, the oldest are forgotten. */
export function withNewer(matches: Matches, events: ReadonlyArray<Event>): Matches {
  const newest = matches.events.at(-1)?.id ?? 0;
  const fresh = events.filter(({ id }) => id > newest);
  if (fresh.length === 0) return matches;
  const all = [...matches.events, ...fresh];
  const dropped = Math.max(0, all.length - MATCHES_MAX);
  if (dropped === 0) return { ...matches, events: all };
  const origin = matches.origin - dropped;
  return { ...matches, events: all.slice(dropped), next: null, origin };
}
