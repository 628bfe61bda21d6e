/**
 * The one WebSocket: it is opened again whenever it is lost, and goes on after the newest event that came.
 *
 * Its whole state is that event's id and the log that it is of. So nothing is missing or comes twice,
 * whatever happens in between; only another log, or a gap in it, makes it begin anew, which is told to whoever
 * listens.
 */

import type { Event, Notice } from "../wire";
import { Silence } from "./silence";

/** What is told of cmux itself, every few seconds. */
export type VitalsNotice = Extract<Notice, { kind: "vitals" }>;

/** What a listener is told. */
export type Heard = {
  event(event: Event): void;
  vitals(notice: VitalsNotice): void;
  /**
   * The log is another one, or has lost events to an archive before they came here: all that is known is to be
   * dropped. Nothing more is said by this socket.
   */
  reset(): void;
  live(state: "live" | "behind" | "lost"): void;
  /** This browser is not let in any more. */
  barred(): void;
  /** It could not connect; the reason is not told to pages, so somebody has to ask. */
  refused(): void;
};

export type Place = { since: number; log: string };

/** The part of a WebSocket that is used. */
export type Wire = {
  onmessage: ((message: { data: unknown }) => void) | null;
  onclose: ((close: { code: number }) => void) | null;
  close(): void;
};

/** What the world does for a socket; a test does it by hand. */
export type World = {
  open(path: string): Wire;
  /** Calls `then` after a time, unless what is returned is called before. */
  later(ms: number, then: () => void): () => void;
  random(): number;
  /** Returns the time in milliseconds. It goes on while the machine sleeps. */
  now(): number;
};

/** The close code by which the daemon says that the browser is not let in any more. */
const POLICY = 1008;

const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 10_000;

export type Socket = {
  /** Connects at once if it waits to do so, or if so little was heard that the connection may be dead. */
  nudge(): void;
  stop(): void;
};

/** Follows the log from `place` on, until it is stopped. */
export function follow(place: Place, heard: Heard, world: World): Socket {
  const following = new Following(place, heard, world);
  following.connect();
  return {
    nudge: () => following.nudge(),
    stop: () => following.stop(),
  };
}

class Following {
  private place: Place;
  private readonly heard: Heard;
  private readonly world: World;
  private readonly silence: Silence;
  private wire: Wire | null = null;
  private failures = 0;
  /** How long to wait before the next try, if the daemon has said it. */
  private retryMs: number | null = null;
  /** The newest event when the connection began, until all up to it has come. */
  private behindUntil: number | null = null;
  private cancelRetry: (() => void) | null = null;

  constructor(place: Place, heard: Heard, world: World) {
    this.place = place;
    this.heard = heard;
    this.world = world;
    this.silence = new Silence(world, () => this.drop());
  }

  connect(): void {
    this.cancelRetry = null;
    const { since, log } = this.place;
    const said = new URLSearchParams({ since: String(since), log, vitals: "true" });
    const wire = this.world.open(`/api/ws?${said}`);
    let greeted = false;
    wire.onmessage = ({ data }) => {
      if (this.wire !== wire) return;
      greeted = true;
      this.hear(JSON.parse(String(data)) as Event | Notice);
    };
    wire.onclose = ({ code }) => {
      if (this.wire !== wire) return;
      this.lost(code, greeted);
    };
    this.wire = wire;
    this.silence.begin();
  }

  nudge(): void {
    if (this.wire !== null && this.silence.isDoubtful()) this.drop();
    if (this.cancelRetry === null) return;
    this.cancelRetry();
    this.connect();
  }

  stop(): void {
    const wire = this.wire;
    this.wire = null;
    this.cancelRetry?.();
    this.cancelRetry = null;
    this.silence.end();
    wire?.close();
  }

  private hear(said: Event | Notice): void {
    this.silence.begin();
    if ("id" in said) {
      this.take(said);
      return;
    }
    switch (said.kind) {
      case "hello":
        this.failures = 0;
        this.retryMs = null;
        this.behindUntil = said.head > this.place.since ? said.head : null;
        this.heard.live(this.behindUntil === null ? "live" : "behind");
        return;
      case "reset":
      case "archived":
        this.stop();
        this.heard.reset();
        return;
      case "lagged":
        // It goes on after what has come, which may be before what was sent.
        this.retryMs = 0;
        return;
      case "goodbye":
        this.retryMs = said.retry_ms;
        return;
      case "vitals":
        this.heard.vitals(said);
        return;
    }
  }

  private take(event: Event): void {
    if (event.id <= this.place.since) return;
    this.place = { ...this.place, since: event.id };
    this.heard.event(event);
    this.caughtUp();
  }

  private caughtUp(): void {
    if (this.behindUntil === null || this.place.since < this.behindUntil) return;
    this.behindUntil = null;
    this.heard.live("live");
  }

  /** Gives a dead connection up. It may take long until the browser notices by itself. */
  private drop(): void {
    const wire = this.wire;
    this.lost(0, true);
    wire?.close();
  }

  private lost(code: number, greeted: boolean): void {
    this.wire = null;
    this.silence.end();
    if (code === POLICY) {
      this.heard.barred();
      return;
    }
    this.heard.live("lost");
    if (!greeted) this.heard.refused();
    this.cancelRetry = this.world.later(this.wait(), () => this.connect());
    this.failures += 1;
  }

  /** Returns how long to wait before the next try. */
  private wait(): number {
    if (this.retryMs !== null) {
      const told = this.retryMs;
      this.retryMs = null;
      return told;
    }
    const doubled = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** this.failures);
    return doubled * (0.5 + this.world.random() / 2);
  }
}
