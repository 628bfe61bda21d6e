/** The lines of the fleet, of which only those in sight are drawn. */

import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { useIsWide } from "../../shared/narrow";
import type { Agent } from "../../wire";
import { COLUMNS } from "./columns";
import { useHeldLines } from "./hold";
import { useRowKeys } from "./keys";
import type { Line } from "./lines";
import { AgentRow } from "./row";

/** Returns how high a line is, in pixels of a root font of 16. */
function height(line: Line | undefined, isNarrow: boolean): number {
  switch (line?.what) {
    case "agent":
      return isNarrow ? 60 : 42;
    case "needs":
    case "project":
      return 36;
    case "none":
      return isNarrow ? 60 : 48;
    case undefined:
      return 0;
  }
}

/** Who is chosen, and how that is changed. */
export type Choosing = {
  chosen: ReadonlyArray<Agent>;
  ids: ReadonlySet<string>;
  choose: (id: string, isRange: boolean) => void;
  clear: () => void;
};

type Props = {
  lines: ReadonlyArray<Line>;
  /** What is shown: other lines of the same are held back while a row is used. */
  scope: string;
  choosing: Choosing;
  onSpawn: (project: string) => void;
};

export function FleetList({ lines: wanted, scope, choosing, onSpawn }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = !useIsWide();
  const { lines, listen } = useHeldLines(wanted, scope, scroller);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => height(lines[at], isNarrow),
    getItemKey: (at) => lines[at]?.key ?? at,
    overscan: 8,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are told by what the lines are.
  useEffect(() => virtual.measure(), [isNarrow, lines]);
  useRowKeys({ lines, scroller, choosing, show: (at) => virtual.scrollToIndex(at) });
  return (
    <div ref={scroller} {...listen} className="min-h-0 flex-1 overflow-y-auto">
      <Head />
      <ul aria-label="Agents" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (line === undefined) return null;
          return (
            <li
              key={item.key}
              className="absolute inset-x-0 top-0"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              <LineFace line={line} choosing={choosing} onSpawn={onSpawn} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Head() {
  return (
    <div
      aria-hidden
      className={classes(
        "sticky top-0 z-20 hidden h-8 border-b border-edge bg-ground text-xs font-medium text-faint",
        COLUMNS,
      )}
    >
      <span>Agent</span>
      <span>Kind</span>
      <span>Phase</span>
      <span>Waits for</span>
      <span className="text-right">Queue</span>
      <span className="text-right">Used</span>
      <span />
    </div>
  );
}

type FaceProps = Pick<Props, "choosing" | "onSpawn"> & { line: Line };

function LineFace({ line, choosing, onSpawn }: FaceProps) {
  switch (line.what) {
    case "agent":
      return (
        <AgentRow
          agent={line.agent}
          project={line.project}
          isChosen={choosing.ids.has(line.key)}
          isChoosing={choosing.chosen.length > 0}
          onChoose={choosing.choose}
        />
      );
    case "needs":
      return (
        <h2 className="flex h-full items-end gap-2 border-b border-edge px-3 pb-1.5 font-semibold text-asking rail:px-4">
          Needs you <span className="font-normal">{line.count}</span>
        </h2>
      );
    case "project":
      return (
        <h2 className="flex h-full items-end gap-2 border-b border-edge px-3 pb-1.5 font-semibold rail:px-4">
          <Link
            to="/projects/$project"
            params={{ project: line.project.id }}
            className="hover:underline"
          >
            {line.project.name}
          </Link>
          <span className="font-normal text-faint">{line.count}</span>
          {line.project.missing_since !== null && (
            <span className="truncate font-normal text-failed">
              Its folder is not there: {line.project.root}
            </span>
          )}
        </h2>
      );
    case "none":
      return (
        <div className="flex h-full items-center gap-3 px-3 text-quiet rail:px-4">
          <span>No agents here.</span>
          <Button look="ghost" onClick={() => onSpawn(line.project.id)}>
            Spawn one
          </Button>
        </div>
      );
  }
}
