/** The events of an agent that are shown: those that were asked for, and those that came since. */

import type { Event, Events } from "../../../wire";

export type Shown = {
  /** Newest first. */
  events: ReadonlyArray<Event>;
  /** What to ask for to get those before, if there may be any. */
  before: number | null;
};

export const NOTHING: Shown = { events: [], before: null };

/** How many are kept while the newest are looked at, and how many while others are. Those before are asked for again. */
export const KEPT_MAX = 1_000;
export const KEPT_READ_MAX = 5_000;

/** Returns what is shown after a page was asked for, which is told oldest first. */
export function withPage(shown: Shown, page: Events): Shown {
  const oldest = shown.events.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  const added = page.events.filter(({ id }) => id < oldest).reverse();
  return { events: [...shown.events, ...added], before: page.scanned_from };
}

/** Returns whether so many are shown that no older ones are asked for. */
export function isFull({ events }: Shown): boolean {
  return events.length >= KEPT_READ_MAX;
}

/** Returns what is shown after events came, which are told oldest first. */
export function withNews(shown: Shown, news: ReadonlyArray<Event>): Shown {
  const newest = shown.events[0]?.id ?? 0;
  const added = news.filter(({ id }) => id > newest).reverse();
  if (added.length === 0) return shown;
  return cropped({ ...shown, events: [...added, ...shown.events] }, KEPT_READ_MAX);
}

/** Returns what is shown without those that are too many. */
export function cropped(shown: Shown, max = KEPT_MAX): Shown {
  if (shown.events.length <= max) return shown;
  const events = shown.events.slice(0, max);
  return { events, before: events.at(-1)?.id ?? null };
}
