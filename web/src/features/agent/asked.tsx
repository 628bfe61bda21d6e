/** What an agent asks on its screen, and the way to answer it. */

import { useQuery } from "@tanstack/react-query";
import { Keyboard } from "lucide-react";
import { explainAgent } from "../../api/routes";
import { answer } from "../../shared/answer";
import { Button } from "../../shared/button";
import type { Agent, Why } from "../../wire";

/** How often, and how long after, it is asked again for a line that was not seen yet. */
const LOOKS_MAX = 4;
const LOOK_AFTER_MS = 1_500;

/** Says what an agent asks in its own words, as far as they are known. */
export function Question({ agent }: { agent: Agent }) {
  const { data } = useQuery({
    // Each time that it asks is another.
    queryKey: ["why", agent.id, agent.since],
    queryFn: ({ signal }) => explainAgent(agent.id, signal),
    staleTime: Number.POSITIVE_INFINITY,
    // It may be known that it asks before its screen was looked at, of which no event tells.
    refetchInterval: ({ state }) =>
      state.data && !lineOf(state.data) && state.dataUpdateCount < LOOKS_MAX && LOOK_AFTER_MS,
  });
  const line = data && lineOf(data);
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
