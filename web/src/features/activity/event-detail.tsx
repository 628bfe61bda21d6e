/** What an event tells in full, below its row. */

import { Link } from "@tanstack/react-router";
import { Braces, Link as LinkIcon, ListFilter } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { fields, text } from "../../feed/data";
import { Button } from "../../shared/button";
import { copyAndSay, linkTo } from "../../shared/clipboard";
import { moment } from "../../shared/format";
import { Scrolls } from "../../shared/scrolls";
import type { Event } from "../../wire";
import { addressOf } from "./search";

type Props = {
  event: Event;
  /** Told how high it is. */
  onHeight: (px: number) => void;
  onKind: (kind: string) => void;
};

export function EventDetail({ event, onHeight, onKind }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const shown = box.current;
    if (shown === null) return;
    const watch = new ResizeObserver(() => onHeight(shown.offsetHeight));
    onHeight(shown.offsetHeight);
    watch.observe(shown);
    return () => watch.disconnect();
  }, [onHeight]);
  const link = linkTo(addressOf(event.id));
  return (
    <div
      ref={box}
      className="flex flex-col gap-2 border-b border-edge bg-sunken px-3 py-2.5 rail:pr-4 rail:pl-10"
    >
      <dl className="flex flex-wrap gap-x-5 gap-y-0.5 text-xs">
        <Fact name="Event">{event.id}</Fact>
        <Fact name="At">{moment(event.at)}</Fact>
        <Fact name="By">{event.actor}</Fact>
        {event.subject !== null && <Fact name="About">{event.subject}</Fact>}
        {event.run !== null && <Fact name="Life">{event.run}</Fact>}
        {event.cause !== null && <Fact name="Cause">{event.cause}</Fact>}
      </dl>
      <Scrolls
        as="section"
        aria-label="What it tells"
        className="max-h-72 overflow-auto rounded-md border border-edge bg-panel px-3 py-2"
      >
        <pre className="text-xs break-words whitespace-pre-wrap">
          {JSON.stringify(event.data, null, 2)}
        </pre>
      </Scrolls>
      <div className="flex flex-wrap items-center gap-2">
        <Button icon={LinkIcon} onClick={() => void copyAndSay(link, "The link")}>
          Copy link
        </Button>
        <Button
          icon={Braces}
          onClick={() => void copyAndSay(JSON.stringify(event, null, 2), "The event")}
        >
          Copy JSON
        </Button>
        <Button icon={ListFilter} onClick={() => onKind(event.kind)}>
          Only {event.kind}
        </Button>
        <Where event={event} />
      </div>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 gap-1.5">
      <dt className="text-faint">{name}</dt>
      <dd className="min-w-0 break-all">{children}</dd>
    </div>
  );
}

/** Where to see more: the conversation of a message, or the agent. */
function Where({ event }: { event: Event }) {
  const thread = text(fields(event.data), "thread");
  const className = "px-1 font-medium text-accent underline";
  return (
    <>
      {thread !== null && event.kind.startsWith("message.") && (
        <Link to="/messages" search={{ thread }} className={className}>
          Open the conversation
        </Link>
      )}
      {event.agent !== null && (
        <Link to="/agents/$agent" params={{ agent: event.agent }} className={className}>
          Open the agent
        </Link>
      )}
    </>
  );
}
