/** What ended or began in the last hour: agents, tmux servers, and cmux itself. */

import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { listEvents } from "../../api/routes";
import { useAgent, useNews } from "../../feed/store";
import { Ago, useAge } from "../../shared/age";
import { describeEvent } from "../../shared/describe-event";
import { Skeleton } from "../../shared/empty";
import { counted } from "../../shared/format";
import { Section } from "../../shared/page";
import type { Event, Vital } from "../../wire";
import { END_KINDS, endsOf, isEnd } from "./ends";

const SHOWN_MAX = 20;

export function Ends({ samples }: { samples: ReadonlyArray<Vital> }) {
  const { events, isPending } = useEnds();
  const exits = events.filter(({ kind }) => kind === "agent.exited").length;
  const restarts = samples.reduce((sum, sample) => sum + sample.restarts, 0);
  const said = [
    counted(exits, "exit"),
    ...(samples.length > 0 ? [counted(restarts, "restart")] : []),
  ];
  return (
    <Section title="Exits and restarts" detail={`In the last hour: ${said.join(", ")}.`}>
      {events.length === 0 ? (
        <Nothing isPending={isPending} />
      ) : (
        <ul>
          {events.slice(0, SHOWN_MAX).map((event) => (
            <End key={event.id} event={event} />
          ))}
        </ul>
      )}
      {events.length > SHOWN_MAX && (
        <p className="border-t border-edge px-3 py-2 text-quiet">
          {counted(events.length - SHOWN_MAX, "more")}, all of which are in{" "}
          <Link to="/activity" search={{ kind: "agent.exited" }} className="text-accent underline">
            the log
          </Link>
          .
        </p>
      )}
    </Section>
  );
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

/** Returns what ended or began in the last hour: asked for once, and then told by the log. */
function useEnds(): { events: Event[]; isPending: boolean } {
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
  return { events, isPending: queries.some((query) => query.isPending) };
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
