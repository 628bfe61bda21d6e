/** What ended or began in the last hour: agents, tmux servers, and cmux itself. */

import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, useMemo, useState } from "react";
import { listEvents } from "../../api/routes";
import { useAgent, useNews } from "../../feed/store";
import { Ago, useAge } from "../../shared/age";
import { describeEvent } from "../../shared/describe-event";
import { ErrorNote, Skeleton } from "../../shared/empty";
import { counted } from "../../shared/format";
import { Section } from "../../shared/page";
import type { Event, Vital } from "../../wire";
import { END_KINDS, type EndKind, endsOf, isEnd, kindsAmong } from "./ends";

const SHOWN_MAX = 20;

export function Ends({ samples }: { samples: ReadonlyArray<Vital> }) {
  const { events, isPending, error, again } = useEnds();
  const exits = events.filter(({ kind }) => kind === "agent.exited").length;
  const restarts = samples.reduce((sum, sample) => sum + sample.restarts, 0);
  const said = [
    ...(isPending || error !== null ? [] : [counted(exits, "exit")]),
    ...(samples.length > 0 ? [counted(restarts, "restart")] : []),
  ];
  const more = events.slice(SHOWN_MAX);
  return (
    <Section
      title="Exits and restarts"
      detail={said.length > 0 && `In the last hour: ${said.join(", ")}.`}
    >
      {error !== null && (
        <ErrorNote error={error} what="What ended cannot be read" onRetry={again} />
      )}
      {events.length === 0 ? (
        error === null && <Nothing isPending={isPending} />
      ) : (
        <ul>
          {events.slice(0, SHOWN_MAX).map((event) => (
            <End key={event.id} event={event} />
          ))}
        </ul>
      )}
      {more.length > 0 && <More events={more} />}
    </Section>
  );
}

/** How many there are besides, and where in the log they are, which shows one kind at a time. */
function More({ events }: { events: ReadonlyArray<Event> }) {
  return (
    <p className="border-t border-edge px-3 py-2 text-quiet">
      {events.length.toLocaleString("en-US")} more in the log, by kind:{" "}
      {kindsAmong(events).map((kind, at) => (
        <Fragment key={kind}>
          {at > 0 && ", "}
          <Link to="/activity" search={{ kind }} className="text-accent underline">
            {describeKind(kind)}
          </Link>
        </Fragment>
      ))}
      .
    </p>
  );
}

/** Says what events of a kind are of. */
function describeKind(kind: EndKind): string {
  switch (kind) {
    case "agent.exited":
      return "agents that ended";
    case "tmux.lost":
      return "tmux servers that are gone";
    case "daemon.started":
      return "starts of cmux";
  }
}

function Nothing({ isPending }: { isPending: boolean }) {
  if (isPending) {
    return (
      <div className="p-3">
        <Skeleton className="h-5 w-full" />
      </div>
    );
  }
  return <p className="p-3 text-quiet">Nothing ended, and nothing was started again.</p>;
}

type Told = {
  events: Event[];
  isPending: boolean;
  /** Why some of it may be missing. */
  error: unknown;
  again: () => void;
};

/** Returns what ended or began in the last hour: asked for once, and then told by the log. */
function useEnds(): Told {
  const queries = useQueries({
    queries: END_KINDS.map((kind) => ({
      queryKey: ["ends", kind],
      queryFn: ({ signal }: { signal: AbortSignal }) => listEvents({ kind, limit: 100 }, signal),
      staleTime: 0,
    })),
  });
  const [since, setSince] = useState<ReadonlyArray<Event>>([]);
  useNews((news) => {
    switch (news.what) {
      case "events": {
        const ends = news.events.filter(isEnd);
        if (ends.length > 0) setSince((before) => endsOf([...before, ...ends], Date.now()));
        return;
      }
      case "reset":
        setSince([]);
        for (const query of queries) void query.refetch();
        return;
    }
  });
  const told = queries.flatMap(({ data }) => data?.events ?? []);
  // What is older than an hour leaves as the minutes pass.
  const [begun] = useState(Date.now);
  const minute = useAge(begun);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are told by how long they are.
  const events = useMemo(
    () => endsOf([...told, ...since], Date.now()),
    [told.length, since, minute],
  );
  return {
    events,
    isPending: queries.some((query) => query.isPending),
    error: queries.find((query) => query.isError)?.error ?? null,
    again: () => {
      for (const query of queries) if (query.isError) void query.refetch();
    },
  };
}

function End({ event }: { event: Event }) {
  const agent = useAgent(event.agent);
  const { text } = describeEvent(event);
  return (
    <li className="flex items-baseline gap-3 border-b border-edge px-3 py-2 last:border-b-0">
      <p className="min-w-0 flex-1 break-words">
        {event.agent !== null && <Who id={event.agent} name={agent?.name} />}
        {text}
      </p>
      <Ago at={event.at} className="shrink-0 text-xs text-faint" />
    </li>
  );
}

function Who({ id, name }: { id: string; name: string | undefined }) {
  if (name === undefined) return "An agent that was forgotten ";
  return (
    <>
      <Link
        to="/agents/$agent"
        params={{ agent: id }}
        search={{ tab: "events" }}
        className="font-medium hover:underline"
      >
        {name}
      </Link>{" "}
    </>
  );
}
