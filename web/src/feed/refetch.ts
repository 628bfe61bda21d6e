/** Asks for things again when they have changed: each at most so often, and only a few at once. */

import { ProblemError } from "../api/request";
import { getLive } from "./live";

/** How far apart the same thing is asked for at least. */
const APART_MS = 300;
const AT_ONCE_MAX = 4;

/** How long to wait with what could not be asked for while the daemon is there, longer each time. */
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 30_000;

export type Refetch = {
  /** Has something asked for soon. To want it again before that changes nothing. */
  want(key: string): void;
  /** Asks at once for what could not be asked for: the daemon is there again. */
  again: () => void;
  /** Forgets all that was wanted. */
  clear(): void;
  /** Does something while this is not asked for: waits for an answer that is due, and holds back what is wanted. */
  pause<T>(key: string, work: () => Promise<T>): Promise<T>;
};

/** What the world does for it; a test does it by hand. */
export type World = {
  now(): number;
  later(ms: number, then: () => void): void;
  /** Whether the daemon is there to be asked. */
  isThere(): boolean;
};

const WORLD: World = {
  now: Date.now,
  later: (ms, then) => void setTimeout(then, ms),
  isThere: () => getLive().is === "live",
};

/**
 * Returns a queue that calls `ask` for what is wanted. What the daemon refuses is not asked for again; what it did
 * not answer is, once it is there.
 */
export function refetching(ask: (key: string) => Promise<void>, world: World = WORLD): Refetch {
  return new Refetching(ask, world);
}

class Refetching implements Refetch {
  private readonly ask: (key: string) => Promise<void>;
  private readonly world: World;
  private readonly wanted = new Set<string>();
  private readonly lastAt = new Map<string, number>();
  private readonly running = new Map<string, Promise<void>>();
  private readonly paused = new Set<string>();
  /** What could not be asked for, and how often in a row. */
  private readonly failures = new Map<string, number>();
  private isWoken = false;

  constructor(ask: (key: string) => Promise<void>, world: World) {
    this.ask = ask;
    this.world = world;
  }

  want(key: string): void {
    this.wanted.add(key);
    this.wake(0);
  }

  readonly again = (): void => {
    for (const key of this.failures.keys()) this.want(key);
  };

  clear(): void {
    this.wanted.clear();
    this.failures.clear();
  }

  async pause<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.paused.add(key);
    try {
      await this.running.get(key);
      return await work();
    } finally {
      this.paused.delete(key);
      this.wake(0);
    }
  }

  private wake(ms: number): void {
    if (this.isWoken) return;
    this.isWoken = true;
    this.world.later(ms, () => {
      this.isWoken = false;
      this.turn();
    });
  }

  private turn(): void {
    let soonest = Number.POSITIVE_INFINITY;
    for (const key of [...this.wanted]) {
      if (this.running.size >= AT_ONCE_MAX) return;
      if (this.running.has(key) || this.paused.has(key)) continue;
      const waits = (this.lastAt.get(key) ?? 0) + APART_MS - this.world.now();
      if (waits > 0) soonest = Math.min(soonest, waits);
      else this.begin(key);
    }
    if (soonest < Number.POSITIVE_INFINITY) this.wake(soonest);
    if (this.wanted.size === 0 && this.lastAt.size > 1000) this.lastAt.clear();
  }

  private begin(key: string): void {
    this.wanted.delete(key);
    this.lastAt.set(key, this.world.now());
    const done = () => {
      this.running.delete(key);
      this.wake(0);
    };
    const asked = this.ask(key).then(
      () => void this.failures.delete(key),
      (error: unknown) => this.failed(key, error),
    );
    this.running.set(key, asked.then(done));
  }

  private failed(key: string, error: unknown): void {
    const before = this.failures.get(key) ?? 0;
    this.failures.delete(key);
    if (isRefused(error)) return;
    this.failures.set(key, before + 1);
    // Otherwise it is asked for again when the daemon is back.
    if (!this.world.isThere()) return;
    this.world.later(Math.min(AGAIN_MAX_MS, AGAIN_FIRST_MS * 2 ** before), () => {
      if (this.failures.get(key) === before + 1 && this.world.isThere()) this.want(key);
    });
  }
}

/** What is answered to who asks too often. */
const TOO_FAST = 429;

/** Returns whether the daemon has answered, and will answer the same again. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof ProblemError) || error.status === TOO_FAST) return false;
  return error.status >= 400 && error.status < 500;
}
