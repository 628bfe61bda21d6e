/** One event in the log: when it was, what happened to whom, and of which kind it is. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { memo } from "react";
import type { FleetState } from "../../feed/state";
import { Badge } from "../../shared/badge";
import { classes } from "../../shared/classes";
import { TONE_TEXT } from "../../shared/describe";
import { describeEvent } from "../../shared/describe-event";
import { clock, moment } from "../../shared/format";
import type { Event } from "../../wire";

/** How high a row is: one line, or two where it is narrow. */
export const ROW_PX = { wide: 32, narrow: 54 };

type Props = Whose & {
  event: Event;
  isOpen: boolean;
  onToggle: (id: number) => void;
};

/** It is drawn again only when it is opened or closed. */
export const EventRow = memo(function EventRow({ event, name, place, isOpen, onToggle }: Props) {
  const { text, tone } = describeEvent(event);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <button
      type="button"
      data-row={event.id}
      aria-expanded={isOpen}
      onClick={() => onToggle(event.id)}
      className={classes(
        "grid h-full w-full grid-cols-[1fr_auto] content-center items-center gap-x-2 border-b border-edge px-3 text-left -outline-offset-2 hover:bg-hover",
        "rail:grid-cols-[1rem_7.5rem_minmax(7rem,12rem)_minmax(0,1fr)_auto] rail:px-4",
        isOpen && "bg-selected hover:bg-selected",
      )}
    >
      <Icon aria-hidden size={13} className="hidden text-faint rail:block" />
      <time
        dateTime={event.at}
        title={moment(event.at)}
        className="order-2 justify-self-end text-xs text-quiet rail:order-none rail:justify-self-start rail:text-sm"
      >
        {when(event.at)}
      </time>
      <span className="order-1 flex min-w-0 items-center gap-1.5 rail:order-none">
        <span className="truncate font-medium">{name}</span>
        {place !== null && <Badge>{place}</Badge>}
      </span>
      <span
        className={classes("order-3 truncate rail:order-none", TONE_TEXT[tone])}
        title={text.length > 60 ? text : undefined}
      >
        {text}
      </span>
      <span className="order-4 justify-self-end text-xs text-quiet rail:order-none">
        {event.kind}
      </span>
    </button>
  );
});

/** Returns when it was: the time today, and with the day before that. */
function when(at: string): string {
  const then = new Date(at);
  if (then.toDateString() === new Date().toDateString()) return clock(at, true);
  const day = then.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${day} ${clock(at, true)}`;
}

/** Whom it happened to: an agent, or else a project, or cmux itself; and where, if there are several projects. */
export type Whose = { name: string; place: string | null };

/** Returns whom an event happened to, as the fleet is known. */
export function whoseOf({ agent, project }: Event, { agents, projects }: Known): Whose {
  const where = project === null ? null : (projects.get(project)?.name ?? project);
  if (agent === null) return { name: where ?? "cmux", place: null };
  const name = agents.get(agent)?.name ?? "a former agent";
  return { name, place: projects.size > 1 ? where : null };
}

export type Known = Pick<FleetState, "agents" | "projects">;

/** A row whose event is about to come, as high as it will be. It is still: many are drawn while one scrolls fast. */
export function RowSkeleton() {
  return (
    <div aria-hidden className="flex h-full items-center border-b border-edge px-3 rail:px-4">
      <span className="h-3 w-full max-w-md rounded bg-hover" />
    </div>
  );
}

/** A row whose event is not in the log. */
export function MissingRow({ id }: { id: number | null }) {
  return (
    <div className="flex h-full items-center border-b border-edge px-3 text-faint rail:px-4">
      Event {id} is not in the log
    </div>
  );
}
