/** Makes of samples of cmux what is plotted. */

import type { Vital } from "../../wire";

/** Samples are kept for so long. */
export const KEPT_MS = 60 * 60 * 1_000;

/** After so many that did not come, a line is not drawn on. */
const MISSED = 3;

/** Returns the samples with one more, without what is older than is kept. One that is there already changes nothing. */
export function withSample(samples: ReadonlyArray<Vital>, sample: Vital): ReadonlyArray<Vital> {
  const at = Date.parse(sample.at);
  const last = samples.at(-1);
  if (last !== undefined && Date.parse(last.at) >= at) return samples;
  return [...samples.filter((old) => Date.parse(old.at) > at - KEPT_MS), sample];
}

/** A line of a plot: a value for each time, or nothing where there is none. */
export type Line = { name: string; values: Array<number | null> };

/** Lines over the same times, which are in seconds since 1970. */
export type Series = { times: number[]; lines: Line[] };

export type Reading = { name: string; of: (sample: Vital, everyMs: number) => number | null };

/** Returns the lines that are read from samples. Where samples are missing, so is the line. */
export function seriesOf(
  samples: ReadonlyArray<Vital>,
  readings: ReadonlyArray<Reading>,
  everyMs: number,
): Series {
  const times: number[] = [];
  const lines: Line[] = readings.map(({ name }) => ({ name, values: [] }));
  let before: number | null = null;
  for (const sample of samples) {
    const at = Date.parse(sample.at);
    if (before !== null && at - before > MISSED * everyMs) {
      times.push((before + everyMs) / 1_000);
      for (const line of lines) line.values.push(null);
    }
    times.push(at / 1_000);
    readings.forEach(({ of }, number) => {
      lines[number]?.values.push(of(sample, everyMs));
    });
    before = at;
  }
  return { times, lines };
}

/** What is plotted, and how its values are said. */
export type Plotted = {
  id: string;
  title: string;
  /** What it is, in a sentence. */
  about: string;
  readings: ReadonlyArray<Reading>;
  unit: "ms" | "count" | "rate" | "bytes";
  /** Whether lines with nothing between them are still lines: what is told only now and then. */
  isSparse?: boolean;
};

export const PLOTS: ReadonlyArray<Plotted> = [
  {
    id: "delivery",
    title: "Delivery time",
    about: "From sending a message to the proof that it was read.",
    readings: [
      { name: "Half within", of: (sample) => sample.took_p50_ms },
      { name: "19 of 20 within", of: (sample) => sample.took_p95_ms },
    ],
    unit: "ms",
    isSparse: true,
  },
  {
    id: "waiting",
    title: "Messages waiting",
    about: "Messages to agents that are not delivered yet.",
    readings: [{ name: "Waiting", of: (sample) => sample.waiting }],
    unit: "count",
  },
  {
    id: "oldest",
    title: "Oldest waiting",
    about: "For how long the oldest of them has waited.",
    readings: [{ name: "Age", of: (sample) => sample.oldest_waiting_ms ?? 0 }],
    unit: "ms",
  },
  {
    id: "events",
    title: "Events",
    about: "Events that were written to the log, per second.",
    readings: [{ name: "Per second", of: (sample, everyMs) => sample.events / (everyMs / 1_000) }],
    unit: "rate",
  },
  {
    id: "memory",
    title: "Memory of cmux",
    about: "What the daemon takes of the machine's memory.",
    readings: [{ name: "Taken", of: (sample) => sample.rss_bytes }],
    unit: "bytes",
  },
  {
    id: "available",
    title: "Memory left",
    about: "What the machine has left for everybody.",
    readings: [{ name: "Left", of: (sample) => sample.memory_available_bytes }],
    unit: "bytes",
  },
  {
    id: "disk",
    title: "Disk free",
    about: "Room on the disk that the store is on.",
    readings: [{ name: "Free", of: (sample) => sample.free_bytes }],
    unit: "bytes",
  },
  {
    id: "store",
    title: "Size of the store",
    about: "How large the log and what is read from it are.",
    readings: [{ name: "Size", of: (sample) => sample.store_bytes }],
    unit: "bytes",
  },
];

/** Returns whether anything was read at all. */
export function isEmpty({ lines }: Series): boolean {
  return lines.every(({ values }) => values.every((value) => value === null));
}

/** Returns the last value of a line, if there is one. */
export function lastOf({ values }: Line): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** Says a series in a sentence, for those who do not see it. */
export function summaryOf(series: Series, say: (value: number) => string): string {
  if (isEmpty(series)) return "Nothing yet.";
  const said = series.lines.flatMap((line) => {
    const values = line.values.filter((value) => value !== null);
    const last = lastOf(line);
    if (last === null) return [];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const range = low === high ? "all the time" : `between ${say(low)} and ${say(high)}`;
    return [`${line.name}: ${say(last)} now, ${range}.`];
  });
  return said.join(" ");
}
