/**
 * The connection to an agent's terminal: it is followed, and tried again when it is lost.
 *
 * A page is not told why a WebSocket was refused, so the daemon opens it all the same and says when it closes
 * it why there is nothing to follow.
 */

import { Silence } from "../../../feed/silence";
import type { TerminalSaid, TerminalTold } from "../../../wire";
import type { Size } from "./fit";

export type LinkState =
  | { is: "connecting" }
  | { is: "open" }
  /** It was lost, and is tried again. */
  | { is: "lost" }
  /** There is none now, for which the daemon gives a reason. */
  | { is: "none"; why: string }
  /** It is in a person's own tmux, where it is not followed. */
  | { is: "apart" };

export type Heard = {
  state(state: LinkState): void;
  /** How large it is, before bytes that draw the whole screen. */
  size(size: Size): void;
  bytes(bytes: Uint8Array, isFirst: boolean): void;
};

/** The part of a WebSocket that is used. */
export type Wire = {
  onopen: (() => void) | null;
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((close: { code: number; reason: string }) => void) | null;
  send(text: string): void;
  close(): void;
};

/** What the world does for a link; a test does it by hand. */
export type World = {
  /** Says why there can be none now, if that is known already. */
  none(): string | null;
  open(): Wire;
  /** Finds out whether this browser is still let in. */
  refused(): void;
  /** Calls `then` after a time, unless what is returned is called before. */
  later(ms: number, then: () => void): () => void;
  random(): number;
  /** Returns the time in milliseconds. It goes on while the machine sleeps. */
  now(): number;
};

const RETRY_FIRST_MS = 600;
const RETRY_MAX_MS = 10_000;

/** How much of what is typed is kept while nobody can hear it, in characters, and for how long. */
export const HELD_MAX = 1_000;
export const HELD_MS = 5_000;

/** The code by which the daemon says that there is no terminal that is followed here. */
const NOTHING = 4409;
const ADOPTED = "adopted";

export class Link {
  private readonly heard: Heard;
  private readonly world: World;
  private readonly silence: Silence;
  private wire: Wire | null = null;
  /** Whether the connection is there, and whether the terminal is shown by it. */
  private isJoined = false;
  private isOpen = false;
  /** Whether there was news of the agent since it was asked for. */
  private isNudged = false;
  /** Whether it is in a person's own tmux, which stays so for as long as the agent's life. */
  private isApart = false;
  private failures = 0;
  private cancelRetry: (() => void) | null = null;
  /** What was typed and not heard yet. */
  private held: Array<{ text: string; at: number }> = [];

  constructor(heard: Heard, world: World) {
    this.heard = heard;
    this.world = world;
    this.silence = new Silence(world, () => {
      this.drop();
      this.retry();
    });
    this.connect();
  }

  /** Begins anew at once, for another life of the agent. What was typed was for the one before. */
  change(): void {
    this.held = [];
    this.anew();
  }

  /** Begins anew at once, with the whole screen. */
  anew(): void {
    this.failures = 0;
    this.isApart = false;
    this.leave();
    this.connect();
  }

  /** Tries now if it waits, as there may be one by now, or if so little was heard that it may be dead. */
  nudge(): void {
    if (this.wire !== null && this.silence.isDoubtful()) this.drop();
    if (this.wire !== null) this.isNudged = true;
    else if (!this.isApart) this.anew();
  }

  /** Says something. Returns whether anybody is there to hear it. */
  say(said: TerminalSaid): boolean {
    if (this.wire === null || !this.isOpen) return false;
    this.wire.send(JSON.stringify(said));
    return true;
  }

  /** Types. While the terminal is on its way, what is typed waits for it, but not for long. */
  type(text: string): void {
    if (this.say({ input: text }) || !this.isComing()) return;
    const length = this.held.reduce((sum, { text }) => sum + text.length, 0);
    if (length + text.length <= HELD_MAX) this.held.push({ text, at: this.world.now() });
  }

  stop(): void {
    this.leave();
  }

  /** Returns whether there is about to be a connection. */
  private isComing(): boolean {
    return this.wire !== null || this.cancelRetry !== null;
  }

  private leave(): void {
    const { wire, isJoined } = this;
    this.silence.end();
    this.wire = null;
    this.isJoined = false;
    this.isOpen = false;
    this.cancelRetry?.();
    this.cancelRetry = null;
    if (wire === null) return;
    // One that is being opened is closed once it is, as browsers complain of all else.
    if (isJoined) wire.close();
    else wire.onopen = () => wire.close();
  }

  /** Gives a dead connection up, opened or not: browsers open no other beside one that they still try to open. */
  private drop(): void {
    const { wire } = this;
    this.wire = null;
    this.leave();
    wire?.close();
  }

  private connect(): void {
    const why = this.world.none();
    if (why !== null) {
      this.held = [];
      this.heard.state({ is: "none", why });
      return;
    }
    this.heard.state({ is: "connecting" });
    this.isNudged = false;
    const wire = this.world.open();
    let isWhole = false;
    wire.onopen = () => {
      if (this.wire === wire) this.isJoined = true;
    };
    wire.onmessage = ({ data }) => {
      if (this.wire !== wire) return;
      this.silence.begin();
      if (data instanceof ArrayBuffer) {
        this.heard.bytes(new Uint8Array(data), isWhole);
        isWhole = false;
        return;
      }
      const told = JSON.parse(String(data)) as TerminalTold;
      if (!("size" in told)) return;
      isWhole = true;
      this.opened(told.size);
    };
    wire.onclose = ({ code, reason }) => {
      if (this.wire !== wire) return;
      this.wire = null;
      this.lost(code, reason);
    };
    this.wire = wire;
    this.silence.begin();
  }

  /** Takes the size of a whole screen, of which the first says that the terminal is there. */
  private opened(size: Size): void {
    const isFirst = !this.isOpen;
    this.isOpen = true;
    this.failures = 0;
    if (isFirst) this.heard.state({ is: "open" });
    this.heard.size(size);
    if (!isFirst) return;
    const oldest = this.world.now() - HELD_MS;
    for (const { text, at } of this.held) if (at >= oldest) this.say({ input: text });
    this.held = [];
  }

  private lost(code: number, reason: string): void {
    const wasOpen = this.isOpen;
    this.silence.end();
    this.isJoined = false;
    this.isOpen = false;
    this.isApart = code === NOTHING && reason === ADOPTED;
    if (code === NOTHING) this.held = [];
    if (this.isApart) this.heard.state({ is: "apart" });
    else if (code === NOTHING) this.nothing();
    else {
      if (!wasOpen) this.world.refused();
      this.retry();
    }
  }

  /** Waits for news of the agent, unless there was some meanwhile. */
  private nothing(): void {
    if (this.isNudged) this.connect();
    else this.heard.state({ is: "none", why: this.world.none() ?? "It has no terminal now" });
  }

  private retry(): void {
    this.heard.state({ is: "lost" });
    const doubled = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** this.failures);
    this.failures += 1;
    this.cancelRetry = this.world.later(doubled * (0.5 + this.world.random() / 2), () => {
      this.cancelRetry = null;
      this.connect();
    });
  }
}
