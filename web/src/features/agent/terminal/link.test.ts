import { describe, expect, it } from "vitest";
import { DOUBT_MS, SILENCE_MAX_MS } from "../../../feed/silence";
import { HELD_MAX, HELD_MS, Link, type Wire } from "./link";

class FakeWire implements Wire {
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((close: { code: number; reason: string }) => void) | null = null;
  readonly sent: string[] = [];
  isClosed = false;

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.isClosed = true;
  }
}

/** A world in which it is known of an agent, one look after the other, why it has no terminal. */
function world(...known: Array<string | null>) {
  const wires: FakeWire[] = [];
  const told: string[] = [];
  type Timer = { ms: number; then: () => void };
  const timers: Timer[] = [];
  /** What is done if nothing more is heard. */
  const silences: Timer[] = [];
  const clock = { now: 0 };
  let refusals = 0;
  const link = new Link(
    {
      state: (state) => told.push(state.is === "none" ? `none: ${state.why}` : state.is),
      size: (size) => told.push(size.join("x")),
      bytes: (bytes, isWhole) => told.push(`${isWhole ? "whole" : "more"} ${bytes.length}`),
    },
    {
      none: () => known.shift() ?? null,
      open: () => {
        const wire = new FakeWire();
        wires.push(wire);
        return wire;
      },
      later: (ms, then) => {
        const timer = { ms, then };
        const waiting = ms === SILENCE_MAX_MS ? silences : timers;
        waiting.push(timer);
        return () => {
          if (waiting.includes(timer)) waiting.splice(waiting.indexOf(timer), 1);
        };
      },
      refused: () => {
        refusals += 1;
      },
      random: () => 1,
      now: () => clock.now,
    },
  );
  return { link, wires, told, timers, silences, clock, refusals: () => refusals };
}

const SIZE = { data: '{"size":[80,24]}' };
const DROPPED = { code: 1006, reason: "" };
const NOTHING = { code: 4409, reason: "no-terminal" };
const ADOPTED = { code: 4409, reason: "adopted" };

describe("Link", () => {
  it("tells the size before each whole screen, that it is open, and what comes", () => {
    const { wires, told } = world();
    wires[0]?.onopen?.();
    for (const data of [SIZE.data, new ArrayBuffer(3), new ArrayBuffer(1)]) {
      wires[0]?.onmessage?.({ data });
    }
    expect(told).toEqual(["connecting", "open", "80x24", "whole 3", "more 1"]);
    wires[0]?.onmessage?.({ data: '{"size":[90,30]}' });
    wires[0]?.onmessage?.({ data: new ArrayBuffer(2) });
    expect(told.slice(5)).toEqual(["90x30", "whole 2"]);
  });

  it("tries again ever more seldom, and soon again after it was there", () => {
    const { timers, wires, refusals } = world();
    const waited: number[] = [];
    for (let at = 0; at < 2; at += 1) {
      wires[at]?.onclose?.(DROPPED);
      const timer = timers.pop();
      waited.push(timer?.ms ?? 0);
      timer?.then();
    }
    expect(waited).toEqual([600, 1200]);
    expect(refusals()).toBe(2);
    wires[2]?.onopen?.();
    wires[2]?.onmessage?.(SIZE);
    wires[2]?.onclose?.(DROPPED);
    expect(timers[0]?.ms).toBe(600);
    expect(refusals()).toBe(2);
  });

  it("asks nobody while it is known that there is none", () => {
    const { link, told, timers, wires } = world("it is offline");
    expect(told).toEqual(["none: it is offline"]);
    expect([timers.length, wires.length]).toEqual([0, 0]);
    link.nudge();
    expect(wires.length).toBe(1);
  });

  it("waits for news when it is told that there is none", () => {
    const { link, told, timers, wires } = world();
    wires[0]?.onopen?.();
    wires[0]?.onclose?.(NOTHING);
    expect(told).toEqual(["connecting", "none: It has no terminal now"]);
    expect(timers).toEqual([]);
    link.nudge();
    expect(wires.length).toBe(2);
  });

  it("asks again if there was news while it asked", () => {
    const { link, told, wires } = world();
    link.nudge();
    expect(wires.length).toBe(1);
    wires[0]?.onclose?.(NOTHING);
    expect(wires.length).toBe(2);
    wires[1]?.onclose?.(NOTHING);
    expect(told.at(-1)).toBe("none: It has no terminal now");
  });

  it("closes one that it left once it is open, and at once if it is", () => {
    const { link, wires } = world();
    link.anew();
    expect(wires[0]?.isClosed).toBe(false);
    wires[0]?.onopen?.();
    expect(wires[0]?.isClosed).toBe(true);
    wires[1]?.onopen?.();
    link.stop();
    expect(wires[1]?.isClosed).toBe(true);
  });

  it("leaves one alone that was adopted", () => {
    const { link, wires, told, timers } = world();
    wires[0]?.onclose?.(ADOPTED);
    link.nudge();
    expect(told.at(-1)).toBe("apart");
    expect([timers.length, wires.length]).toEqual([0, 1]);
  });

  it("keeps what is typed for a terminal that is on its way", () => {
    const { link, wires, timers } = world();
    link.type("a");
    wires[0]?.onopen?.();
    link.type("b");
    wires[0]?.onmessage?.(SIZE);
    link.type("c");
    expect(wires[0]?.sent).toEqual(["a", "b", "c"].map((input) => JSON.stringify({ input })));
    wires[0]?.onclose?.(DROPPED);
    link.type("d");
    timers.pop()?.then();
    wires[1]?.onmessage?.(SIZE);
    expect(wires[1]?.sent).toEqual(['{"input":"d"}']);
    wires[1]?.onmessage?.(SIZE);
    expect(wires[1]?.sent.length).toBe(1);
  });

  it("keeps no more of it than was meant for what is there", () => {
    const { link, wires, clock } = world();
    link.type("x".repeat(HELD_MAX));
    link.type("too much");
    clock.now = 1;
    wires[0]?.onmessage?.(SIZE);
    expect(wires[0]?.sent.map((text) => text.length)).toEqual([HELD_MAX + '{"input":""}'.length]);

    link.anew();
    link.type("too long ago");
    clock.now += HELD_MS + 1;
    link.type("now");
    wires[1]?.onmessage?.(SIZE);
    expect(wires[1]?.sent).toEqual(['{"input":"now"}']);

    link.anew();
    link.type("for the life before");
    link.change();
    wires[3]?.onmessage?.(SIZE);
    expect(wires[3]?.sent).toEqual([]);
  });

  it("keeps nothing that is typed where there is no terminal", () => {
    const { link, wires } = world();
    link.type("a");
    wires[0]?.onclose?.(NOTHING);
    link.type("b");
    link.nudge();
    wires[1]?.onmessage?.(SIZE);
    expect(wires[1]?.sent).toEqual([]);
  });

  it("takes a connection for dead that is silent, though it was told to be there", () => {
    const { wires, told, timers, silences } = world();
    wires[0]?.onopen?.();
    wires[0]?.onmessage?.(SIZE);
    wires[0]?.onmessage?.({ data: '{"alive":true}' });
    expect(silences.length).toBe(1);
    expect(told).toEqual(["connecting", "open", "80x24"]);
    silences.pop()?.then();
    expect(wires[0]?.isClosed).toBe(true);
    expect(told.at(-1)).toBe("lost");
    timers.pop()?.then();
    wires[1]?.onopen?.();
    wires[1]?.onmessage?.(SIZE);
    wires[1]?.onclose?.(DROPPED);
    expect(silences).toEqual([]);
  });

  it("takes one for dead that never said anything, and does not wait until it is open to close it", () => {
    const { wires, told, timers, silences } = world();
    expect(silences.length).toBe(1);
    silences.pop()?.then();
    expect(wires[0]?.isClosed).toBe(true);
    expect(told).toEqual(["connecting", "lost"]);
    timers.pop()?.then();
    expect(told.at(-1)).toBe("connecting");
    expect(wires.length).toBe(2);
    wires[0]?.onclose?.(DROPPED);
    expect(timers).toEqual([]);
    wires[1]?.onmessage?.(SIZE);
    expect(told.slice(-2)).toEqual(["open", "80x24"]);
  });

  it.each([
    { silent: DOUBT_MS, isOpen: true, states: [] },
    { silent: DOUBT_MS + 1, isOpen: true, states: ["connecting"] },
    { silent: 8 * 3_600_000, isOpen: true, states: ["connecting"] },
    { silent: DOUBT_MS, isOpen: false, states: [] },
    { silent: DOUBT_MS + 1, isOpen: false, states: ["connecting"] },
  ])("is nudged after $silent ms of silence, open: $isOpen", ({ silent, isOpen, states }) => {
    const { link, wires, told, timers, silences, clock } = world();
    clock.now = 60_000;
    if (isOpen) wires[0]?.onopen?.();
    if (isOpen) wires[0]?.onmessage?.(SIZE);
    else link.anew();
    const [before, known] = [told.length, wires.length];
    clock.now += silent;
    link.nudge();
    expect(told.slice(before)).toEqual(states);
    expect(wires.length - known).toBe(states.length);
    expect(wires[known - 1]?.isClosed).toBe(states.length > 0);
    // It waits for a word now, and for no other try.
    expect([timers.length, silences.length]).toEqual([0, 1]);
  });

  it("keeps what is typed for the connection that comes after one that is dead", () => {
    const { link, wires, clock } = world();
    wires[0]?.onopen?.();
    wires[0]?.onmessage?.(SIZE);
    clock.now = DOUBT_MS + 1;
    link.nudge();
    link.type("a");
    wires[1]?.onmessage?.(SIZE);
    expect([wires[0]?.sent, wires[1]?.sent]).toEqual([[], ['{"input":"a"}']]);
  });

  it("says nothing to nobody, and hears nothing of a connection that it left", () => {
    const { link, wires, told } = world();
    expect(link.say({ input: "x" })).toBe(false);
    wires[0]?.onopen?.();
    wires[0]?.onmessage?.(SIZE);
    expect(link.say({ resize: [80, 24] })).toBe(true);
    expect(wires[0]?.sent).toEqual(['{"resize":[80,24]}']);
    link.anew();
    expect(wires[0]?.isClosed).toBe(true);
    const before = told.length;
    wires[0]?.onmessage?.({ data: new ArrayBuffer(9) });
    wires[0]?.onclose?.(DROPPED);
    expect(told.length).toBe(before);
  });
});
