/** Why cmux takes an agent to be in its phase: who said what, and whom it believed. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { explainAgent } from "../../../api/routes";
import { useNews } from "../../../feed/store";
import { Ago } from "../../../shared/age";
import { Badge } from "../../../shared/badge";
import { describeBeing, describePhase, describeWait } from "../../../shared/describe";
import { ErrorNote, Skeleton } from "../../../shared/empty";
import { Section } from "../../../shared/page";
import type { Agent, Saying, Why } from "../../../wire";
import { describeDecision, describeSaying, describeWitness } from "./witnesses";

/** It is asked again at most so often. */
const APART_MS = 1_000;

export function WhySection({ agent }: { agent: Agent }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["why", agent.id],
    queryFn: ({ signal }) => explainAgent(agent.id, signal),
    staleTime: 0,
  });
  useAskedAgain(agent.id);
  const { label } = describePhase(agent.phase);
  return (
    <Section title={`Why it ${describeBeing(agent.phase)}`} detail={describeWait(agent)}>
      {data ? (
        <Sayings why={data} label={label.toLowerCase()} />
      ) : error ? (
        <ErrorNote error={error} what="Why is not known" onRetry={() => void refetch()} />
      ) : (
        <div className="p-3">
          <Skeleton className="h-32 w-full" />
        </div>
      )}
    </Section>
  );
}

/** Has it asked for again after what may have changed it. */
function useAskedAgain(id: string): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useNews((news) => {
    const isAbout =
      news.what === "reset" ||
      (news.what === "events" && news.events.some((event) => event.agent === id));
    if (!isAbout || timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ queryKey: ["why", id] });
    }, APART_MS);
  });
  useEffect(() => {
    return () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, []);
}

function Sayings({ why, label }: { why: Why; label: string }) {
  return (
    <>
      <p className="border-b border-edge px-3 py-2 last:border-b-0">
        {describeDecision(label, why.decided)}
      </p>
      {why.sayings.length > 0 && (
        <ol aria-label="What each witness said last, those first who are believed first">
          {why.sayings.map((saying) => (
            <SayingRow
              key={saying.witness}
              saying={saying}
              isBelieved={saying.witness === why.decided?.witness}
            />
          ))}
        </ol>
      )}
    </>
  );
}

function SayingRow({ saying, isBelieved }: { saying: Saying; isBelieved: boolean }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-0.5 border-b border-edge px-3 py-2 last:border-b-0 rail:grid-cols-[9rem_minmax(0,1fr)_auto]">
      <span className="text-quiet">{describeWitness(saying.witness)}</span>
      <span className="order-last col-span-2 font-medium break-words rail:order-none rail:col-span-1">
        {describeSaying(saying)} {isBelieved && <Badge tone="busy">believed</Badge>}
      </span>
      <Ago at={saying.at} className="text-xs text-faint" />
      {(saying.rule !== null || saying.line !== null) && (
        <span className="order-last col-span-2 text-quiet rail:col-start-2">
          {saying.rule !== null && <>Rule “{saying.rule}” matched </>}
          {saying.line !== null && <code className="break-all">{saying.line.trim()}</code>}
        </span>
      )}
    </li>
  );
}
