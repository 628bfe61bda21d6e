/** What an agent asks on its screen, and the way to answer it. */

import { useQuery } from "@tanstack/react-query";
import { Keyboard } from "lucide-react";
import { useEffect } from "react";
import { explainAgent } from "../../api/routes";
import { answer } from "../../shared/answer";
import { Button } from "../../shared/button";
import type { Agent, Why } from "../../wire";
import { useAskedAgain } from "./why";

/** After how long its screen has surely been looked at. */
const LOOKED_AT_MS = 2_000;

/** Says what an agent asks in its own words, as far as they are known. */
export function Question({ agent }: { agent: Agent }) {
  const { data, refetch } = useQuery({
    // Each time that it asks is another.
    queryKey: ["why", agent.id, agent.since],
    queryFn: ({ signal }) => explainAgent(agent.id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  useAskedAgain(agent.id);
  const line = data && lineOf(data);
  // A hook tells that it asks about a second before its screen is looked at. Of that no event tells, since it asks as
  // before, so this is asked once more by the clock.
  const isTooEarly = data !== undefined && line === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time that it asks, it is asked once.
  useEffect(() => {
    if (!isTooEarly) return;
    const timer = setTimeout(() => void refetch(), LOOKED_AT_MS);
    return () => clearTimeout(timer);
  }, [agent.id, agent.since, isTooEarly]);
  return line && <q className="ml-2 text-ink">{line}</q>;
}

/** Leads to where it is answered. */
export function AnswerButton({ agent }: { agent: Agent }) {
  return (
    <Button icon={Keyboard} look="primary" onClick={() => answer(agent)}>
      Answer {agent.name}
    </Button>
  );
}

/** Returns the line on its screen by which it is known that it asks, if one was seen. */
function lineOf({ decided, sayings }: Why): string | null {
  const said = [decided, ...sayings].find(
    (saying) => saying?.says.startsWith("asking") && saying.line,
  );
  return said?.line?.trim() ?? null;
}
