/** How long nothing was heard of a connection, by which one that is dead is known: the browser may take long to notice. */

/** After this much silence a connection is dead: the daemon says something every five seconds. */
export const SILENCE_MAX_MS = 20_000;

/** The same where there is a reason to doubt it, such as a laptop that was opened. */
export const DOUBT_MS = 7_000;

/** What the world does for it; a test does it by hand. */
export type World = {
  /** Calls `then` after a time, unless what is returned is called before. */
  later(ms: number, then: () => void): () => void;
  /** Returns the time in milliseconds. It goes on while the machine sleeps. */
  now(): number;
};

/** The silence of one connection after the other. Nothing is waited for until the first is begun. */
export class Silence {
  private readonly world: World;
  private readonly dead: () => void;
  /** When something was heard last, or the connection was begun. */
  private heardAt = 0;
  private cancel: (() => void) | null = null;

  /** Calls `dead` as soon as it has lasted for too long. */
  constructor(world: World, dead: () => void) {
    this.world = world;
    this.dead = dead;
  }

  /** Begins anew: something was heard, or a connection was begun. */
  begin(): void {
    this.end();
    this.heardAt = this.world.now();
    this.cancel = this.world.later(SILENCE_MAX_MS, this.dead);
  }

  /** Waits for nothing more: there is no connection. */
  end(): void {
    this.cancel?.();
    this.cancel = null;
  }

  /** Returns whether so little was heard that the connection may be dead. */
  isDoubtful(): boolean {
    return this.world.now() - this.heardAt > DOUBT_MS;
  }
}
