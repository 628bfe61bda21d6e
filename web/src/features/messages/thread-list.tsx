/** Conversations as a list, of which only those in sight are drawn. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useRef } from "react";
import type { FleetState } from "../../feed/state";
import { useFleet } from "../../feed/store";
import { Age } from "../../shared/age";
import { Badge, Count } from "../../shared/badge";
import { classes } from "../../shared/classes";
import { Skeleton } from "../../shared/empty";
import { useRowSteps } from "../../shared/row-keys";
import type { Message } from "../../wire";
import { Way } from "./names";
import { KindBadge, StateLabel } from "./state";
import {
  firstLine,
  inWords,
  type Line,
  lengthOf,
  type Section,
  type Thread,
  USER,
} from "./threads";

/** The page that the list is on, and that its rows lead to. */
export type Where = "/messages" | "/inbox";

const ROW_PX = 62;
const HEADING_PX = 34;

type Props = {
  lines: ReadonlyArray<Line>;
  where: Where;
  /** The conversation that is open. */
  open: string | undefined;
  /** Whether what is listed is of all mail, with nothing left out. */
  isOfAll: boolean;
  hasMore: boolean;
  /** Whether so much is listed that no more is loaded. */
  isFull: boolean;
  isLoading: boolean;
  onMore: () => void;
};

export function ThreadList(props: Props) {
  const { lines, where, open, isOfAll, hasMore, isFull, isLoading, onMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const count = lines.length + (hasMore ? 1 : 0);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (lines[at]?.what === "heading" ? HEADING_PX : ROW_PX),
    getItemKey: (at) => lines[at]?.key ?? "more",
    overscan: 6,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are told by what the lines are.
  useEffect(() => virtual.measure(), [lines]);
  const items = virtual.getVirtualItems();
  const isAtEnd = items.at(-1)?.index === lines.length;
  useEffect(() => {
    if (isAtEnd && hasMore && !isLoading) onMore();
  }, [isAtEnd, hasMore, isLoading, onMore]);
  const navigate = useNavigate();
  useRowSteps({
    noun: "conversation",
    group: "Mail",
    scroller,
    rows: () =>
      lines.flatMap((line, at) => (line.what === "thread" ? [{ key: line.key, at }] : [])),
    show: (at) => virtual.scrollToIndex(at),
    open,
    onOpen: (thread) => {
      const search = (old: object) => ({ ...old, thread });
      void navigate({ to: where, search, replace: true, resetScroll: false });
    },
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
      <ul
        aria-label="Conversations"
        className="relative"
        style={{ height: virtual.getTotalSize() }}
      >
        {items.map((item) => {
          const line = lines[item.index];
          return (
            <li
              key={item.key}
              className="absolute inset-x-0 top-0"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              {line === undefined ? (
                <RowSkeleton />
              ) : (
                <LineFace line={line} where={where} isOpen={line.key === open} isOfAll={isOfAll} />
              )}
            </li>
          );
        })}
      </ul>
      {isFull && (
        <p className="px-4 py-3 text-center text-xs text-faint">
          Only the newest are listed. Filters find older ones.
        </p>
      )}
    </div>
  );
}

type FaceProps = Pick<Props, "where" | "isOfAll"> & { isOpen: boolean };

function LineFace({ line, ...rest }: FaceProps & { line: Line }) {
  switch (line.what) {
    case "thread":
      return <ThreadRow thread={line.thread} {...rest} />;
    case "heading":
      return (
        <h2
          className={classes(
            "flex h-full items-end gap-2 border-b border-edge px-3 pb-1.5 font-semibold rail:px-4",
            line.section === "questions" && "text-asking",
          )}
        >
          {headingOf(line.section)}
          {line.count > 0 && <span className="font-normal">{line.count}</span>}
        </h2>
      );
  }
}

function headingOf(section: Section): string {
  switch (section) {
    case "questions":
      return "Questions for you";
    case "unread":
      return "Unread";
    case "rest":
      return "Read";
  }
}

type RowProps = FaceProps & { thread: Thread };

/** One conversation: its newest message. It is drawn again only when that has changed. */
const ThreadRow = memo(function ThreadRow({ thread, where, isOpen, isOfAll }: RowProps) {
  const { newest, unread } = thread;
  const line = firstLine(inWords(newest));
  return (
    <div
      className={classes(
        "relative flex h-full flex-col justify-center gap-0.5 border-b border-edge px-3 hover:bg-hover rail:px-4",
        isOpen && "bg-selected hover:bg-selected",
      )}
    >
      <div className="flex items-center gap-2">
        <Link
          to={where}
          search={(old) => ({ ...old, thread: thread.id })}
          resetScroll={false}
          data-row={thread.id}
          aria-current={isOpen ? "true" : undefined}
          className="flex min-w-0 items-center gap-2 outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          <Way message={newest} />
          <span className="sr-only">: {line}</span>
        </Link>
        <KindBadge kind={newest.kind} />
        {unread > 0 && <Count value={unread} label="unread" tone="busy" />}
        <Age at={newest.created_at} className="ml-auto text-xs text-quiet" />
      </div>
      <div className="flex items-center gap-2">
        <span
          aria-hidden
          className={classes("min-w-0 flex-1 truncate", unread > 0 ? "text-ink" : "text-quiet")}
        >
          {line}
        </span>
        {thread.messages.length > 1 && (
          <span className="shrink-0 text-xs text-quiet">{lengthOf(thread, isOfAll)}</span>
        )}
        <ProjectName id={newest.project} />
        {!isThere(newest) && <StateLabel state={newest.state} className="text-xs" />}
      </div>
    </div>
  );
});

/** Returns whether a message is in the person's inbox, where it need not be said that it came. */
function isThere({ to, state }: Message): boolean {
  return to === USER && state === "delivered";
}

/** The project of a message, where there are several. */
export function ProjectName({ id }: { id: string }) {
  const name = useFleet((state: FleetState) =>
    state.projects.size > 1 ? (state.projects.get(id)?.name ?? id) : null,
  );
  return name === null ? null : <Badge>{name}</Badge>;
}

/** The shape of a row that is about to come. */
export function RowSkeleton() {
  return (
    <div
      className="flex flex-col gap-2 border-b border-edge px-3 py-3 rail:px-4"
      style={{ height: ROW_PX }}
    >
      <Skeleton className="h-3.5 w-40" />
      <Skeleton className="h-3.5 w-64 max-w-full" />
    </div>
  );
}
