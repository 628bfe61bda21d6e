import { describe, expect, it } from "vitest";
import type { Vital } from "../../wire";
import { isEmpty, KEPT_MS, PLOTS, seriesOf, summaryOf, withSample } from "./series";

const BEGIN = Date.parse("2026-01-01T10:00:00.000Z");
const EVERY = 5_000;

function vital(at: number, change: Partial<Vital> = {}): Vital {
  return {
    at: new Date(BEGIN + at).toISOString(),
    status: "healthy",
    agents: 1,
    waiting: 0,
    oldest_waiting_ms: null,
    delivered: 0,
    took_p50_ms: null,
    took_p95_ms: null,
    events: 0,
    restarts: 0,
    rss_bytes: 0,
    store_bytes: 0,
    free_bytes: 0,
    memory_available_bytes: 0,
    memory_total_bytes: 0,
    ...change,
  };
}

const WAITING = [{ name: "Waiting", of: (sample: Vital) => sample.waiting }];

describe("withSample", () => {
  it.each<[string, number[], number, number[]]>([
    ["begins", [], 0, [0]],
    ["goes on", [0, 5], 10, [0, 5, 10]],
    ["has none twice", [0, 5], 5, [0, 5]],
    ["takes none from before", [0, 5], 3, [0, 5]],
    ["forgets what is too old", [0, 5], KEPT_MS + 1, [5, KEPT_MS + 1]],
  ])("%s", (_, known, next, expected) => {
    const samples = withSample(
      known.map((at) => vital(at)),
      vital(next),
    );
    expect(samples.map(({ at }) => Date.parse(at) - BEGIN)).toEqual(expected);
  });
});

describe("seriesOf", () => {
  it.each<[string, number[], Array<number | null>]>([
    ["draws what follows", [0, 5_000, 10_000], [0, 1, 2]],
    ["draws on over one that was missed", [0, 10_000], [0, 1]],
    ["leaves a gap where many are missing", [0, 60_000], [0, null, 1]],
  ])("%s", (_, times, expected) => {
    const samples = times.map((at, waiting) => vital(at, { waiting }));
    expect(seriesOf(samples, WAITING, EVERY).lines[0]?.values).toEqual(expected);
  });

  it("has as many times as values, in order", () => {
    const { times, lines } = seriesOf([vital(0), vital(60_000)], WAITING, EVERY);
    expect(times.length).toBe(lines[0]?.values.length);
    expect([...times].sort((one, other) => one - other)).toEqual(times);
  });

  it.each([
    ["events", { events: 10 }, [2]],
    ["oldest", { oldest_waiting_ms: null }, [0]],
    ["delivery", { took_p50_ms: 7, took_p95_ms: null }, [7, null]],
    ["disk", { free_bytes: 9 }, [9]],
  ])("reads %s", (id, change, expected) => {
    const readings = PLOTS.find((plot) => plot.id === id)?.readings ?? [];
    const { lines } = seriesOf([vital(0, change)], readings, EVERY);
    expect(lines.map(({ values }) => values[0])).toEqual(expected);
  });
});

describe("summaryOf", () => {
  const say = (value: number) => `${value} m`;
  it.each<[string, Vital[], string]>([
    ["nothing", [], "Nothing yet."],
    ["one", [vital(0, { waiting: 3 })], "Waiting: 3 m now, all the time."],
    [
      "a range",
      [vital(0, { waiting: 3 }), vital(5_000, { waiting: 1 })],
      "Waiting: 1 m now, between 1 m and 3 m.",
    ],
  ])("says %s", (_, samples, expected) => {
    expect(summaryOf(seriesOf(samples, WAITING, EVERY), say)).toBe(expected);
  });

  it("is empty if nothing was read", () => {
    const delivery = PLOTS[0]?.readings ?? [];
    expect(isEmpty(seriesOf([vital(0)], delivery, EVERY))).toBe(true);
    expect(isEmpty(seriesOf([vital(0)], WAITING, EVERY))).toBe(false);
  });
});
