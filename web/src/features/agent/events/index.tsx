/** What happened to an agent, newest first. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp, ScrollText } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../../shared/button";
import { Empty, ErrorNote, Skeleton } from "../../../shared/empty";
import { counted } from "../../../shared/format";
import type { Agent, Event } from "../../../wire";
import { isFull, KEPT_MAX } from "./pages";
import { EventRow } from "./row";
import { type AgentEvents, useEvents } from "./use-events";

const ROW_PX = 36;

export function EventsPane({ agent }: { agent: Agent }) {
  const found = useEvents(agent.id);
  if (!found.isKnown) return <Loading />;
  if (found.events.length === 0) {
    if (found.error !== null) {
      const what = "The log could not be read";
      return <ErrorNote error={found.error} what={what} onRetry={found.again} />;
    }
    return (
      <Empty
        icon={ScrollText}
        title="Nothing happened yet"
        command={`cmux events --agent ${agent.name} --follow`}
      >
        What happens to {agent.name} is shown here. In a terminal, this follows it:
      </Empty>
    );
  }
  return <Log found={found} name={agent.name} />;
}

/** While a person reads further down, what is new is counted and not shown, so that nothing moves. */
function useHeld(events: ReadonlyArray<Event>, isAtTop: boolean) {
  const newest = useRef(events[0]?.id ?? 0);
  if (isAtTop) newest.current = events[0]?.id ?? 0;
  const at = events.findIndex(({ id }) => id <= newest.current);
  const held = at === -1 ? 0 : at;
  return { shown: held === 0 ? events : events.slice(held), held };
}

function Log({ found, name }: { found: AgentEvents; name: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtTop, setAtTop] = useState(true);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const { shown, held } = useHeld(found.events, isAtTop);
  const { before, isComing, error, older } = found;
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (at) => shown[at]?.id ?? at,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isMore = before !== null && !isFull(found);
  const wantsOlder = last >= shown.length - 20 && isMore && !isComing && error === null;
  const latest = useRef(older);
  latest.current = older;
  useEffect(() => {
    if (wantsOlder) latest.current();
  }, [wantsOlder]);
  const isTooMany = isAtTop && found.events.length > KEPT_MAX;
  const { crop } = found;
  useEffect(() => {
    if (isTooMany) crop();
  }, [isTooMany, crop]);
  const toggle = useCallback((id: number) => {
    setOpened((was) => {
      const next = new Set(was);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        onScroll={(event) => setAtTop(event.currentTarget.scrollTop < 8)}
        className="min-h-0 flex-1 overflow-y-auto"
      >
        <ol
          aria-label={`Events of ${name}, newest first`}
          className="relative"
          style={{ height: virtual.getTotalSize() }}
        >
          {items.map(({ index, key, start }) => {
            const event = shown[index];
            if (event === undefined) return null;
            return (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <EventRow event={event} isOpen={opened.has(event.id)} onToggle={toggle} />
              </li>
            );
          })}
        </ol>
        <Foot found={found} />
      </div>
      {held > 0 && (
        <Button
          icon={ArrowUp}
          onClick={() => scroller.current?.scrollTo({ top: 0 })}
          className="absolute top-2 left-1/2 -translate-x-1/2 shadow-overlay"
        >
          {counted(held, "new event")}
        </Button>
      )}
    </div>
  );
}

function Foot({ found }: { found: AgentEvents }) {
  if (found.error !== null) {
    return (
      <ErrorNote error={found.error} what="Older ones could not be read" onRetry={found.again} />
    );
  }
  const said = isFull(found)
    ? "Older ones are in the activity log."
    : found.before === null
      ? "This is the oldest there is."
      : "Older ones are asked for…";
  return <p className="py-3 text-center text-xs text-faint">{said}</p>;
}

function Loading() {
  return (
    <div aria-hidden className="flex flex-col gap-4 p-4">
      {[0, 1, 2, 3, 4, 5].map((row) => (
        <Skeleton key={row} className="h-5 w-full" />
      ))}
    </div>
  );
}
