/** One event of an agent: when, what, and all that the log has of it. */

import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { classes } from "../../../shared/classes";
import { CopyButton } from "../../../shared/copy";
import { TONE_TEXT } from "../../../shared/describe";
import { describeEvent } from "../../../shared/describe-event";
import { clock, moment } from "../../../shared/format";
import type { Event } from "../../../wire";

type Props = { event: Event; isOpen: boolean; onToggle: (id: number) => void };

/** An event never changes; it is drawn again only when it is opened. */
export const EventRow = memo(
  function EventRow({ event, isOpen, onToggle }: Props) {
    const { text, tone } = describeEvent(event);
    return (
      <div className="border-b border-edge">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => onToggle(event.id)}
          className="flex min-h-9 w-full items-center gap-2 px-3 text-left hover:bg-hover focus-visible:-outline-offset-2 rail:px-4"
        >
          <ChevronRight
            aria-hidden
            size={14}
            className={classes("shrink-0 text-faint", isOpen && "rotate-90")}
          />
          <time
            dateTime={event.at}
            title={moment(event.at)}
            className="shrink-0 text-xs text-faint"
          >
            {clock(event.at, true)}
          </time>
          <span className={classes("min-w-0 flex-1 truncate", TONE_TEXT[tone])}>{text}</span>
          <span className="hidden shrink-0 font-mono text-xs text-faint rail:inline">
            {event.kind}
          </span>
        </button>
        {isOpen && <Whole event={event} />}
      </div>
    );
  },
  (one, other) => one.event.id === other.event.id && one.isOpen === other.isOpen,
);

function Whole({ event }: { event: Event }) {
  const text = JSON.stringify(event, null, 2);
  return (
    <div className="relative border-t border-edge bg-sunken px-3 py-2 rail:pl-10">
      <CopyButton what="the event" text={text} className="absolute top-1 right-2" />
      <pre className="text-xs break-words whitespace-pre-wrap">{text}</pre>
    </div>
  );
}
