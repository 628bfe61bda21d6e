/** How cmux was in the last hour, as small plots. */

import { type ComponentProps, useMemo, useState } from "react";
import { ErrorNote, Skeleton } from "../../shared/empty";
import { bytes, clock, duration } from "../../shared/format";
import { PartNote, part, usePart } from "../../shared/part";
import type Canvas from "./canvas";
import { isEmpty, lastOf, PLOTS, type Plotted, type Series, seriesOf, summaryOf } from "./series";
import type { VitalSigns } from "./use-vitals";

const canvas = part(() => import("./canvas"));

export function Plots({ vitals }: { vitals: VitalSigns }) {
  if (vitals.isUntold && vitals.samples.length === 0) {
    return (
      <p className="rounded-lg border border-edge bg-panel p-3 text-quiet">
        This cmux keeps no record of how it was. <code>cmux daemon restart</code> after an update
        brings one that does; the parts above are as they are now.
      </p>
    );
  }
  if (vitals.error !== null) {
    return (
      <ErrorNote error={vitals.error} what="The plots could not be read" onRetry={vitals.again} />
    );
  }
  return (
    <>
      <PartNote part={canvas} name="What draws the plots" />
      <div className="grid grid-cols-1 gap-4 rail:grid-cols-2 min-[100rem]:grid-cols-4">
        {PLOTS.map((plotted) => (
          <Plot key={plotted.id} plotted={plotted} vitals={vitals} />
        ))}
      </div>
    </>
  );
}

/** Says a value of a plot. */
export function sayer(unit: Plotted["unit"]): (value: number) => string {
  switch (unit) {
    case "ms":
      return (value) => (value === 0 ? "0" : duration(value));
    case "count":
      return (value) => value.toLocaleString("en-US");
    case "rate":
      return (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
    case "bytes":
      return bytes;
  }
}

function Plot({ plotted, vitals }: { plotted: Plotted; vitals: VitalSigns }) {
  const { samples, everyMs, isPending } = vitals;
  const [pointed, setPointed] = useState<number | null>(null);
  const series = useMemo(
    () => seriesOf(samples, plotted.readings, everyMs),
    [samples, plotted, everyMs],
  );
  const say = sayer(plotted.unit);
  const isNothing = isEmpty(series);
  const isSeveral = series.lines.length > 1;
  return (
    <figure className="flex min-w-0 flex-col rounded-lg border border-edge bg-panel">
      <figcaption className="px-3 pt-2">
        <div className="flex min-h-5 items-baseline justify-between gap-3">
          <h3 className="truncate font-medium">{plotted.title}</h3>
          {!isNothing && !isSeveral && <Readout series={series} at={pointed} say={say} />}
        </div>
        {!isNothing && isSeveral ? (
          <div title={plotted.about}>
            <Readout series={series} at={pointed} say={say} />
          </div>
        ) : (
          <p className="truncate text-xs text-quiet" title={plotted.about}>
            {plotted.about}
          </p>
        )}
        <p className="sr-only">{summaryOf(series, say)}</p>
      </figcaption>
      <div aria-hidden className="h-28 px-1 pb-1">
        {isNothing ? (
          <p className="flex h-full items-center justify-center text-faint">
            {isPending ? "" : "Nothing yet"}
          </p>
        ) : (
          <Drawn series={series} plotted={plotted} say={say} onPoint={setPointed} />
        )}
      </div>
    </figure>
  );
}

/** The plot itself. Whether it can be drawn is said once for all of them. */
function Drawn(props: ComponentProps<typeof Canvas>) {
  const Shown = usePart(canvas);
  return Shown === null ? <Skeleton className="m-2 h-24" /> : <Shown {...props} />;
}

type ReadoutProps = { series: Series; at: number | null; say: (value: number) => string };

/** The values that are pointed at, or the last ones. */
function Readout({ series, at, say }: ReadoutProps) {
  const time = at === null ? undefined : series.times[at];
  return (
    <p className="flex min-h-4 shrink-0 items-baseline gap-2 text-xs">
      {time !== undefined && <span className="text-faint">{clock(time * 1_000, true)}</span>}
      {series.lines.map((line, number) => {
        const value = at === null ? lastOf(line) : (line.values[at] ?? null);
        return (
          <span key={line.name} title={line.name} className="inline-flex items-baseline gap-1">
            {series.lines.length > 1 && (
              <span
                aria-hidden
                className={`inline-block size-2 rounded-full ${number === 0 ? "bg-accent" : "bg-asking"}`}
              />
            )}
            <span className={series.lines.length > 1 ? "text-quiet" : "sr-only"}>{line.name}</span>
            <span className="font-medium">{value === null ? "–" : say(value)}</span>
          </span>
        );
      })}
    </p>
  );
}
