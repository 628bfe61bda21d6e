/** Why cmux takes an agent to be in its phase: who said what, and whom it believed. */

import { useQuery } from "@tanstack/react-query";
import { explainAgent } from "../../../api/routes";
import { Ago } from "../../../shared/age";
import { Badge } from "../../../shared/badge";
import { describeBeing, describePhase, describeWait } from "../../../shared/describe";
import { ErrorNote, Skeleton } from "../../../shared/empty";
import { Section } from "../../../shared/page";
import type { Agent, Saying, Why } from "../../../wire";
import { useAskedAgain } from "../why";
import { describeDecision, describeSaying, describeWitness } from "./witnesses";

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
