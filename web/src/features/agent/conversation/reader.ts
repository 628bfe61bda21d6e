/** Reads a conversation: the newest of it, what is said from then on, and what was said before when it is wanted. */

import type { Conversation, Entry } from "../../../wire";
import {
  cropped,
  KEPT_MAX,
  KEPT_READ_MAX,
  type Kept,
  type Mark,
  withMark,
  withNewest,
  withOlder,
} from "./items";

export type Read = {
  entries: ReadonlyArray<Entry>;
  /** Whether anything has been read. */
  isKnown: boolean;
  /** Whether there is more before. */
  hasOlder: boolean;
  /** Whether so much is known that no more is loaded. */
  isFull: boolean;
  isOlderComing: boolean;
  /** Why there is none, in words. */
  missing: string | null;
  error: unknown;
};

const NOTHING: Read = {
  entries: [],
  isKnown: false,
  hasOlder: false,
  isFull: false,
  isOlderComing: false,
  missing: null,
  error: null,
};

type Ask = (before: string | null) => Promise<Conversation>;
type Later = (ms: number, then: () => void) => void;

/** The newest is asked for at most so often. */
export const APART_MS = 400;

/** How many pages are read to close a gap. After that, it begins anew. */
const GAP_PAGES = 4;

const isFull = (entries: ReadonlyArray<Entry>) => entries.length >= KEPT_READ_MAX;

export class Reader {
  private readonly ask: Ask;
  private readonly later: Later;
  private readonly listeners = new Set<() => void>();
  private read = NOTHING;
  /** Where the pages begin that were loaded, the oldest first. */
  private marks: ReadonlyArray<Mark> = [];
  private isFollowed = true;
  private isAsking = false;
  private isWanted = false;

  constructor(ask: Ask, later: Later) {
    this.ask = ask;
    this.later = later;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): Read => this.read;

  /** Asks for the newest, at once or as soon as it has been long enough. */
  want(): void {
    if (this.isAsking) {
      this.isWanted = true;
      return;
    }
    this.isAsking = true;
    void this.readNewest().finally(() => {
      this.later(APART_MS, () => {
        this.isAsking = false;
        if (!this.isWanted) return;
        this.isWanted = false;
        this.want();
      });
    });
  }

  /** Asks again if that has failed. */
  again(): void {
    if (this.read.error !== null) this.want();
  }

  /** Says whether the end is followed, so that what is far before it need not be kept. */
  follow(isFollowed: boolean): void {
    this.isFollowed = isFollowed;
  }

  /** What to ask for to get what is before all that is known. */
  private get next(): string | null {
    return this.marks[0]?.next ?? null;
  }

  /** Asks for what was said before. */
  async older(): Promise<void> {
    if (this.next === null || this.read.isOlderComing || this.read.isFull) return;
    const before = this.next;
    this.tell({ isOlderComing: true });
    try {
      const page = await this.ask(before);
      // It may have begun anew meanwhile.
      if (this.next !== before) return;
      const entries = withOlder(this.read.entries, page.entries);
      // A page with nothing new in it still says where to go on.
      this.marks = [{ first: entries[0]?.id ?? "", next: page.next }, ...this.marks];
      this.tell({ entries, hasOlder: page.next !== null, isFull: isFull(entries), error: null });
    } catch (error) {
      this.tell({ error });
    } finally {
      this.tell({ isOlderComing: false });
    }
  }

  private async readNewest(): Promise<void> {
    try {
      await this.join(await this.ask(null));
    } catch (error) {
      this.tell({ error, isKnown: true });
    }
  }

  /** Puts the newest page to what is known, with the pages between the two if there are few. */
  private async join(newest: Conversation): Promise<void> {
    let page: ReadonlyArray<Entry> = newest.entries;
    let next = newest.next;
    for (let pages = 0; ; pages += 1) {
      const joined = withNewest(this.read.entries, page);
      if (joined !== null) {
        const max = this.isFollowed ? KEPT_MAX : KEPT_READ_MAX;
        this.show(cropped(joined, withMark(this.marks, joined, page, next), max), newest);
        return;
      }
      if (next === null || pages === GAP_PAGES) break;
      const older = await this.ask(next);
      page = withOlder(page, older.entries);
      next = older.next;
    }
    this.show({ entries: page, marks: withMark([], page, page, next) }, newest);
  }

  private show({ entries, marks }: Kept, { missing }: Conversation): void {
    this.marks = marks;
    this.tell({
      entries,
      hasOlder: this.next !== null,
      isFull: isFull(entries),
      missing,
      error: null,
      isKnown: true,
    });
  }

  private tell(change: Partial<Read>): void {
    this.read = { ...this.read, ...change };
    for (const listener of this.listeners) listener();
  }
}
