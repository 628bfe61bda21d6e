import { describe, expect, it } from "vitest";
import { DRAWING_MAX, flowInto, HELD_MAX } from "./flow";

const KB = 1 << 10;

/** A terminal that draws when it is told to. */
function slow() {
  const waiting: Array<{ bytes: Uint8Array; done: () => void }> = [];
  let overruns = 0;
  const flow = flowInto(
    (bytes, done) => waiting.push({ bytes, done }),
    () => {
      overruns += 1;
    },
  );
  return {
    flow,
    overruns: () => overruns,
    given: () => waiting.reduce((sum, { bytes }) => sum + bytes.length, 0),
    drawOne: () => waiting.shift()?.done(),
    drawAll() {
      const seen: number[] = [];
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        seen.push(...next.bytes);
        next.done();
      }
      return seen;
    },
  };
}

describe("flowInto", () => {
  it.each([
    ["little", [10, 20], 30],
    ["all that may be drawn", [DRAWING_MAX], DRAWING_MAX],
    ["no more than a piece above it", [DRAWING_MAX - 1, 300 * KB], DRAWING_MAX - 1 + 64 * KB],
    ["a large screen in pieces", [2_000 * KB], DRAWING_MAX],
  ])("gives %s", (_, sizes, expected) => {
    const { flow, given } = slow();
    for (const size of sizes) flow.take(new Uint8Array(size));
    expect(given()).toBe(expected);
  });

  it("gives more when some was drawn", () => {
    const { flow, given, drawOne } = slow();
    flow.take(new Uint8Array(DRAWING_MAX + 10));
    drawOne();
    expect(given()).toBe(DRAWING_MAX + 10 - 64 * KB);
  });

  it("is done when all is drawn", () => {
    const { flow, drawOne } = slow();
    expect(flow.isDone()).toBe(true);
    flow.take(new Uint8Array(65 * KB));
    drawOne();
    expect(flow.isDone()).toBe(false);
    drawOne();
    expect(flow.isDone()).toBe(true);
  });

  it("keeps the order, and everything", () => {
    const { flow, drawAll } = slow();
    const all = Array.from({ length: 400 * KB }, (_, at) => at % 251);
    flow.take(Uint8Array.from(all.slice(0, 1_000)));
    flow.take(Uint8Array.from(all.slice(1_000)));
    expect(drawAll().every((byte, at) => byte === all[at])).toBe(true);
  });

  it("forgets what is held back when it is dropped, and not what is being drawn", () => {
    const { flow, given, drawAll } = slow();
    flow.take(new Uint8Array(2 * DRAWING_MAX));
    flow.drop();
    expect(given()).toBe(DRAWING_MAX);
    flow.take(Uint8Array.of(7));
    expect(drawAll().at(-1)).toBe(7);
  });

  it("asks for the whole screen once when too much is held back", () => {
    const { flow, overruns, given } = slow();
    flow.take(new Uint8Array(HELD_MAX));
    expect(overruns()).toBe(0);
    flow.take(new Uint8Array(DRAWING_MAX + 1));
    expect(overruns()).toBe(1);
    expect(given()).toBe(DRAWING_MAX);
  });
});
