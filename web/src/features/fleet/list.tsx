/** The lines of the fleet, of which only those in sight are drawn. */

import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { useShortcuts } from "../../shared/keys";
import { COLUMNS } from "./columns";
import type { Line } from "./lines";
import { AgentRow } from "./row";

const NARROW = matchMedia("(width < 68rem)");

/** Returns whether a row has two lines. */
function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const look = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", look);
    return () => NARROW.removeEventListener("change", look);
  }, []);
  return isNarrow;
}

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

type Props = { lines: ReadonlyArray<Line>; onSpawn: (project: string) => void };

export function FleetList({ lines, onSpawn }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => height(lines[at], isNarrow),
    getItemKey: (at) => lines[at]?.key ?? at,
    overscan: 8,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are told by what the lines are.
  useEffect(() => virtual.measure(), [isNarrow, lines]);
  useRowKeys(lines, scroller, (at) => virtual.scrollToIndex(at, { align: "auto" }));
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
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
              <LineFace line={line} onSpawn={onSpawn} />
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

function LineFace({ line, onSpawn }: { line: Line; onSpawn: (project: string) => void }) {
  switch (line.what) {
    case "agent":
      return <AgentRow agent={line.agent} project={line.project} />;
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

/** Has `j` and `k` go from agent to agent. */
function useRowKeys(
  lines: ReadonlyArray<Line>,
  scroller: { current: HTMLElement | null },
  show: (at: number) => void,
): void {
  const last = useRef<string | null>(null);
  const step = (by: 1 | -1) => {
    const rows = lines.flatMap((line, at) =>
      line.what === "agent" ? [{ key: line.key, at }] : [],
    );
    const focused = document.activeElement?.getAttribute("data-row") ?? last.current;
    const now = rows.findIndex(({ key }) => key === focused);
    const next = rows[now === -1 ? (by === 1 ? 0 : rows.length - 1) : now + by];
    if (next === undefined) return;
    last.current = next.key;
    show(next.at);
    // The row may have to be drawn first.
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-row="${next.key}"]`)?.focus();
    });
  };
  const group = "Fleet";
  useShortcuts([
    { keys: "j", label: "Next agent", group, run: () => step(1) },
    { keys: "k", label: "Previous agent", group, run: () => step(-1) },
  ]);
}
