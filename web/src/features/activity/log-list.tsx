/** The rows of the log, the newest at the bottom. Only those in sight are drawn; the end is followed as it grows. */

import { ArrowDown } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useFleet } from "../../feed/store";
import { counted } from "../../shared/format";
import { useShortcuts } from "../../shared/keys";
import { useIsNarrow } from "../../shared/narrow";
import { focusedRow, focusRow } from "../../shared/row-keys";
import { EventDetail } from "./event-detail";
import { EventRow, MissingRow, ROW_PX, RowSkeleton, whoseOf } from "./event-row";
import type { Rows } from "./rows";
import { heightOf, inSight, type Layout, rowAt, scrollTo, topOf } from "./window";

const OVERSCAN = 8;

/** How near the end counts as being there. */
const END_PX = 12;

type Props = {
  rows: Rows;
  /** The event that is open. */
  open: number | undefined;
  onOpen: (id: number | undefined) => void;
  onKind: (kind: string) => void;
  /** Goes to the newest, if that is not the last row. */
  onNewest: () => void;
  /** What is said before the first row, and after the last. */
  top: ReactNode;
  bottom: ReactNode;
};

export function LogList({ rows, open, onOpen, onKind, onNewest, top, bottom }: Props) {
  const view = useView();
  const rowPx = useIsNarrow() ? ROW_PX.narrow : ROW_PX.wide;
  const [extraPx, setExtra] = useState(0);
  const known = useFleet(
    ({ agents, projects }) => ({ agents, projects }),
    (one, other) => one.agents === other.agents && one.projects === other.projects,
  );
  const index = open === undefined ? null : rows.indexOf(open);
  const opened = index === null ? null : { index, extraPx };
  const layout: Layout = { count: rows.count, rowPx, opened };
  const { from, to } = inSight(layout, view.scrollPx - view.headPx, view.heightPx, OVERSCAN);
  const { onSight } = rows;
  useEffect(() => onSight(from, to), [onSight, from, to]);
  useStay({ view, rows, layout, open });
  useRowKeys(view, rows, layout, open, onOpen);
  const toggle = useCallback(
    (id: number) => {
      view.asked.current = id === open ? null : id;
      onOpen(id === open ? undefined : id);
    },
    [open, onOpen, view.asked],
  );
  const indices = Array.from({ length: to - from }, (_, at) => from + at);
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={view.scroller}
        onScroll={view.onScroll}
        className="h-full overflow-y-auto [overflow-anchor:none]"
      >
        <div ref={view.head}>{top}</div>
        <ol aria-label="Events" className="relative" style={{ height: heightOf(layout) }}>
          {indices.map((at) => {
            const found = rows.find(at);
            return (
              <li
                key={rows.idOf(at) ?? at}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${topOf(layout, at)}px)` }}
              >
                <div style={{ height: rowPx }}>
                  {found === "unknown" ? (
                    <RowSkeleton />
                  ) : found === "missing" ? (
                    <MissingRow id={rows.idOf(at)} />
                  ) : (
                    <EventRow
                      event={found}
                      {...whoseOf(found, known)}
                      isOpen={at === index}
                      onToggle={toggle}
                    />
                  )}
                </div>
                {at === index && typeof found === "object" && (
                  <EventDetail event={found} onHeight={setExtra} onKind={onKind} />
                )}
              </li>
            );
          })}
        </ol>
        {bottom}
      </div>
      <NewPill view={view} rows={rows} layout={layout} onNewest={onNewest} />
    </div>
  );
}

type View = ReturnType<typeof useView>;

/** What is in sight: how far it is scrolled, and how high the window is. */
function useView() {
  const scroller = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const [{ scrollPx, heightPx, headPx }, setSight] = useState({
    scrollPx: 0,
    heightPx: 0,
    headPx: 0,
  });
  const [isPinned, setPinned] = useState(true);
  /** The same at once, for what is done before it is drawn again. */
  const pinned = useRef(true);
  /** How far it was scrolled when the end was last shown. */
  const endPx = useRef(0);
  /** The event that was opened here, which is in sight already. */
  const asked = useRef<number | null>(null);
  const look = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    const next = {
      scrollPx: box.scrollTop,
      heightPx: box.clientHeight,
      headPx: head.current?.offsetHeight ?? 0,
    };
    setSight((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next));
  }, []);
  const pin = useCallback((isOn: boolean) => {
    pinned.current = isOn;
    setPinned(isOn);
  }, []);
  const toEnd = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    box.scrollTop = box.scrollHeight;
    endPx.current = box.scrollTop;
  }, []);
  /** Follows the end, unless somebody has just scrolled away from it: the page hears of that a little later. */
  const followEnd = useCallback(() => {
    const box = scroller.current;
    if (box === null) return;
    const isLeft = !isAtEnd(box) && box.scrollTop < endPx.current - END_PX;
    if (isLeft) pin(false);
    else toEnd();
  }, [pin, toEnd]);
  useLayoutEffect(() => {
    look();
    const watch = new ResizeObserver(() => {
      if (pinned.current) toEnd();
      look();
    });
    for (const part of [scroller.current, head.current]) if (part !== null) watch.observe(part);
    return () => watch.disconnect();
  }, [look, toEnd]);
  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (box !== null) pin(isAtEnd(box));
    look();
  }, [look, pin]);
  return {
    scroller,
    head,
    scrollPx,
    heightPx,
    headPx,
    isPinned,
    pinned,
    asked,
    pin,
    toEnd,
    followEnd,
    look,
    onScroll,
  };
}

function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < END_PX;
}

type Staying = { view: View; rows: Rows; layout: Layout; open: number | undefined };

/** Keeps in sight what is: the end if it is followed, the same rows if others come before them, what is opened. */
function useStay({ view, rows, layout, open }: Staying): void {
  const { scroller, head, pinned, asked, look, pin, followEnd } = view;
  const origin = useRef(rows.origin);
  const shown = useRef<number | null>(null);
  const settled = useRef<number | undefined>(undefined);
  const height = heightOf(layout);
  const { rowPx } = layout;
  const index = open === undefined ? null : rows.indexOf(open);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is done after each change of what is laid out.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null) return;
    const before = rows.origin - origin.current;
    origin.current = rows.origin;
    if (open !== undefined && index !== null && shown.current !== open) {
      shown.current = open;
      pin(false);
      if (asked.current !== open) {
        box.scrollTop = Math.max(0, topOf(layout, index) - box.clientHeight / 3);
      }
    } else if (pinned.current) {
      followEnd();
    } else if (before !== 0) {
      box.scrollTop += before * rowPx;
    }
    if (open === undefined) shown.current = null;
    // What was opened here is shown whole, once it is known how high it is.
    if (open !== settled.current && (open === undefined || (layout.opened?.extraPx ?? 0) > 0)) {
      settled.current = open;
      const headPx = head.current?.offsetHeight ?? 0;
      const px =
        index === null ? null : scrollTo(layout, index, box.scrollTop - headPx, box.clientHeight);
      if (px !== null && asked.current === open) box.scrollTop = px + headPx;
    }
    look();
  }, [height, rows.origin, open, index === null, rowPx]);
}

type PillProps = { view: View; rows: Rows; layout: Layout; onNewest: () => void };

/** Says how much came since the end was left, and goes there. */
function NewPill({ view, rows, layout, onNewest }: PillProps) {
  const { isPinned, pin, toEnd, look } = view;
  const seen = useRef(0);
  if (isPinned) seen.current = rows.idOf(rows.count - 1) ?? 0;
  if (isPinned || rows.count === 0) return null;
  const fresh = rows.count - 1 - lastSeen(rows, seen.current);
  const left = heightOf(layout) + view.headPx - view.scrollPx - view.heightPx;
  if (fresh <= 0 && left < view.heightPx && rows.hasNewest) return null;
  return (
    <button
      type="button"
      onClick={() => {
        onNewest();
        pin(true);
        requestAnimationFrame(() => {
          toEnd();
          look();
        });
      }}
      className="appears absolute bottom-3 left-1/2 flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-edge-strong bg-panel px-3 font-medium shadow-overlay hover:bg-hover"
    >
      <ArrowDown aria-hidden size={14} />
      {fresh > 0 ? counted(fresh, "new event") : "Newest"}
    </button>
  );
}

function lastSeen(rows: Rows, id: number): number {
  return rows.indexOf(id) ?? rows.count - 1;
}

/** Has `j` and `k` go from event to event, and Escape close what is open. */
function useRowKeys(
  view: View,
  rows: Rows,
  layout: Layout,
  open: number | undefined,
  onOpen: (id: number | undefined) => void,
): void {
  const { scroller } = view;
  const last = useRef<number | null>(null);
  const step = (by: 1 | -1) => {
    const box = scroller.current;
    if (box === null || rows.count === 0) return;
    const focused = focusedRow();
    const id = focused === null ? last.current : Number(focused);
    const here = id === null ? null : rows.indexOf(id);
    const bottom = rowAt(layout, box.scrollTop + box.clientHeight - 1);
    const next = here === null ? bottom : Math.max(0, Math.min(rows.count - 1, here + by));
    const to = rows.idOf(next);
    last.current = to;
    const px = scrollTo(layout, next, box.scrollTop - view.headPx, box.clientHeight);
    if (px !== null) box.scrollTop = px + view.headPx;
    focusRow(box, String(to));
  };
  const group = "Activity";
  const close = { keys: "escape", label: "Close the event", group, run: () => onOpen(undefined) };
  useShortcuts([
    { keys: "j", label: "Next event", group, run: () => step(1) },
    { keys: "k", label: "Previous event", group, run: () => step(-1) },
    ...(open === undefined ? [] : [close]),
  ]);
}
