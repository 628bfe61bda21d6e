/** Reads a conversation: the newest of it, what is said from then on, and what was said before when it is wanted. */

import type { Conversation, Entry } from "../../../wire";
import { withNewest, withOlder } from "./items";

export type Read = {
  entries: ReadonlyArray<Entry>;
  /** Whether anything has been read. */
  isKnown: boolean;
  /** Whether there is more before. */
  hasOlder: boolean;
  isOlderComing: boolean;
  /** Why there is none, in words. */
  missing: string | null;
  error: unknown;
};

const NOTHING: Read = {
  entries: [],
  isKnown: false,
  hasOlder: false,
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

export class Reader {
  private readonly ask: Ask;
  private readonly later: Later;
  private readonly listeners = new Set<() => void>();
  private read = NOTHING;
  private next: string | null = null;
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

  /** Asks for what was said before. */
  async older(): Promise<void> {
    if (this.next === null || this.read.isOlderComing) return;
    const before = this.next;
    this.tell({ isOlderComing: true });
    try {
      const page = await this.ask(before);
      // It may have begun anew meanwhile.
      if (this.next !== before) return;
      this.next = page.next;
      this.tell({
        entries: withOlder(this.read.entries, page.entries),
        hasOlder: page.next !== null,
        error: null,
      });
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
    let page = newest.entries;
    let next = newest.next;
    for (let pages = 0; ; pages += 1) {
      const joined = withNewest(this.read.entries, page);
      const isFirst = this.read.entries.length === 0;
      if (joined !== null && !isFirst) {
        this.tell({ entries: joined, missing: newest.missing, error: null, isKnown: true });
        return;
      }
      if (isFirst || next === null || pages === GAP_PAGES) break;
      const older = await this.ask(next);
      page = withOlder(page, older.entries).slice();
      next = older.next;
    }
    this.next = next;
    this.tell({
      entries: page,
      hasOlder: next !== null,
      missing: newest.missing,
      error: null,
      isKnown: true,
    });
  }

  private tell(change: Partial<Read>): void {
    this.read = { ...this.read, ...change };
    for (const listener of this.listeners) listener();
  }
}
