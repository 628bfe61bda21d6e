/** Asks for things again when they have changed: each at most so often, and only a few at once. */

/** How far apart the same thing is asked for at least. */
const APART_MS = 300;
const AT_ONCE_MAX = 4;

export type Refetch = {
  /** Has something asked for soon. To want it again before that changes nothing. */
  want(key: string): void;
  /** Forgets all that was wanted. */
  clear(): void;
  /** Does something while this is not asked for: waits for an answer that is due, and holds back what is wanted. */
  pause<T>(key: string, work: () => Promise<T>): Promise<T>;
};

/** Returns a queue that calls `ask` for what is wanted. `now` and `later` are the clock. */
export function refetching(
  ask: (key: string) => Promise<void>,
  now: () => number = Date.now,
  later: (ms: number, then: () => void) => void = (ms, then) => void setTimeout(then, ms),
): Refetch {
  const wanted = new Set<string>();
  const lastAt = new Map<string, number>();
  const running = new Map<string, Promise<void>>();
  const paused = new Set<string>();
  let isWoken = false;

  const wake = (ms: number) => {
    if (isWoken) return;
    isWoken = true;
    later(ms, () => {
      isWoken = false;
      turn();
    });
  };

  const turn = () => {
    let soonest = Number.POSITIVE_INFINITY;
    for (const key of [...wanted]) {
      if (running.size >= AT_ONCE_MAX) return;
      if (running.has(key) || paused.has(key)) continue;
      const waits = (lastAt.get(key) ?? 0) + APART_MS - now();
      if (waits > 0) {
        soonest = Math.min(soonest, waits);
        continue;
      }
      wanted.delete(key);
      lastAt.set(key, now());
      const done = () => {
        running.delete(key);
        wake(0);
      };
      running.set(key, ask(key).then(done, done));
    }
    if (soonest < Number.POSITIVE_INFINITY) wake(soonest);
    if (wanted.size === 0 && lastAt.size > 1000) lastAt.clear();
  };

  return {
    want(key) {
      wanted.add(key);
      wake(0);
    },
    clear() {
      wanted.clear();
    },
    async pause(key, work) {
      paused.add(key);
      try {
        await running.get(key);
        return await work();
      } finally {
        paused.delete(key);
        wake(0);
      }
    },
  };
}
