/** Draws a plot by uPlot. It is loaded when it is shown. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../../shared/format";
import { useShade } from "../../shared/theme";
import type { Plotted, Series } from "./series";

type Props = {
  series: Series;
  plotted: Plotted;
  say: (value: number) => string;
  /** Which of the times is pointed at, if one is. */
  onPoint: (at: number | null) => void;
};

export default function Canvas({ series, plotted, say, onPoint }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ series, say, onPoint });
  latest.current = { series, say, onPoint };
  const shade = useShade();

  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read again when the shade is another.
  useEffect(() => {
    const box = host.current;
    if (box === null) return;
    const size = () => ({ width: box.clientWidth, height: box.clientHeight });
    const options = optionsOf(plotted, latest, size());
    const made = new uPlot(options, dataOf(latest.current.series), box);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize(size()));
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [plotted, shade]);

  useEffect(() => plot.current?.setData(dataOf(series)), [series]);

  return <div ref={host} className="h-full w-full overflow-hidden" />;
}

function dataOf({ times, lines }: Series): uPlot.AlignedData {
  return [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData;
}

/** The colours of the lines, in their order. */
const COLOURS = ["--accent", "--asking"];

function optionsOf(
  plotted: Plotted,
  latest: { current: Pick<Props, "say" | "onPoint"> },
  size: { width: number; height: number },
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--faint"),
    font: `11px ${style.fontFamily || "sans-serif"}`,
    ticks: { show: false },
  };
  const grid = { stroke: colour("--edge"), width: 1 };
  return {
    ...size,
    legend: { show: false },
    padding: [8, 10, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_, low, high) => rangeOf(plotted, low, high) } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        gap: 6,
        space: 70,
        values: (_, times) => times.map((time) => clock(time * 1_000, isShort(times))),
      },
      {
        ...axis,
        grid,
        size: 58,
        gap: 4,
        space: 28,
        ...stepsOf(plotted.unit),
        values: (_, values) => values.map((value) => latest.current.say(value)),
      },
    ],
    series: [
      {},
      ...plotted.readings.map((_, number) => {
        const stroke = colour(COLOURS[number] ?? "--accent");
        return {
          stroke,
          width: 1.5,
          spanGaps: plotted.isSparse ?? false,
          points: { show: plotted.isSparse ?? false, size: 4, fill: stroke },
        };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => latest.current.onPoint(cursor.idx ?? null)] },
  };
}

/** Returns whether times are so near to each other that minutes do not tell them apart. */
function isShort(times: ReadonlyArray<number>): boolean {
  const [first, second] = times;
  return first !== undefined && second !== undefined && second - first < 60;
}

/** The steps of a scale of bytes, which are round in the units that they are said in. */
const BYTE_STEPS = Array.from({ length: 34 }, (_, power) => 2 ** (power + 14));

/** The steps of a scale of things, of which there are no halves. */
const COUNT_STEPS = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

/** The same of a scale of time, in milliseconds. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3_600_000),
];

function stepsOf(unit: Plotted["unit"]): { incrs?: number[] } {
  switch (unit) {
    case "bytes":
      return { incrs: BYTE_STEPS };
    case "ms":
      return { incrs: TIME_STEPS };
    case "count":
      return { incrs: COUNT_STEPS };
    case "rate":
      return {};
  }
}

/** Returns how far the scale goes. It is never so narrow that what hardly changes looks as if it did. */
function rangeOf({ unit }: Plotted, low: number | null, high: number | null): uPlot.Range.MinMax {
  const least = unit === "bytes" ? 1 << 20 : 1;
  if (low === null || high === null) return [0, least];
  return [0, Math.max(least, high * 1.1)];
}
