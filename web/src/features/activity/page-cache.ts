/** Pages of the log by id, of which only those that were looked at last are kept. Pure but for its own state. */

import type { Event } from "../../wire";

export const PAGE_SIZE = 200;
export const PAGES_MAX = 60;

/** Returns the page that an event is on. Page 0 begins with event 1. */
export const pageOf = (id: number) => Math.floor((id - 1) / PAGE_SIZE);

/** Returns the ids of a page: those after `since`, up to `through`. */
export function idsOf(page: number): { since: number; through: number } {
  return { since: page * PAGE_SIZE, through: (page + 1) * PAGE_SIZE };
}

/** Returns the pages of the ids from `from` to `to`. */
export function pagesOf(from: number, to: number): number[] {
  const pages: number[] = [];
  for (let page = pageOf(Math.max(1, from)); page <= pageOf(Math.max(1, to)); page += 1) {
    pages.push(page);
  }
  return pages;
}

/** What is known of an event: all of it, that it is not in the log, or nothing yet. */
export type Found = Event | "missing" | "unknown";

type Page = {
  events: Map<number, Event>;
  /** Up to where it was asked for: an id up to there that is not here is not in the log. */
  through: number;
};

export class PageCache {
  #pages = new Map<number, Page>();
  #max: number;

  constructor(max = PAGES_MAX) {
    this.#max = max;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** Returns what is known of an event. */
  find(id: number): Found {
    const page = this.#pages.get(pageOf(id));
    if (page === undefined) return "unknown";
    return page.events.get(id) ?? (id <= page.through ? "missing" : "unknown");
  }

  /** Returns whether a page has all events up to `head` that are on it. */
  has(page: number, head: number): boolean {
    const known = this.#pages.get(page);
    return known !== undefined && known.through >= Math.min(head, idsOf(page).through);
  }

  /** Takes note that a page is looked at, so that it is kept for longer than others. */
  touch(page: number): void {
    const known = this.#pages.get(page);
    if (known === undefined) return;
    this.#pages.delete(page);
    this.#pages.set(page, known);
  }

  /** Puts an answer in: the events of a page, in a log whose newest event was `head`. */
  fill(page: number, events: ReadonlyArray<Event>, head: number): void {
    const before = this.#pages.get(page);
    const known = before?.events ?? new Map<number, Event>();
    for (const event of events) if (pageOf(event.id) === page) known.set(event.id, event);
    const through = Math.max(before?.through ?? 0, Math.min(head, idsOf(page).through));
    this.#pages.delete(page);
    this.#pages.set(page, { events: known, through });
    this.#shrink();
  }

  /**
   * Puts events in as they come. They go onto a page that is known as far as to them, or that they begin; to
   * others, they are asked for once those are looked at.
   */
  append(events: ReadonlyArray<Event>): void {
    for (const event of events) {
      const at = pageOf(event.id);
      const isFirst = event.id === idsOf(at).since + 1;
      const known =
        this.#pages.get(at) ?? (isFirst ? { events: new Map(), through: 0 } : undefined);
      if (known === undefined || (!isFirst && known.through !== event.id - 1)) continue;
      known.events.set(event.id, event);
      known.through = event.id;
      this.#pages.delete(at);
      this.#pages.set(at, known);
    }
    this.#shrink();
  }

  clear(): void {
    this.#pages.clear();
  }

  #shrink(): void {
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= this.#max) return;
      this.#pages.delete(page);
    }
  }
}
