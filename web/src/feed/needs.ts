/** What a person is needed for: agents that ask or have failed, and questions that are not answered. */

import type { Agent } from "../wire";
import { openQuestions } from "./questions";
import type { FleetState, Letter } from "./state";

export type Need =
  | { what: "asking"; key: string; project: string; agent: Agent }
  | { what: "failed"; key: string; project: string; agent: Agent }
  | { what: "question"; key: string; project: string | null; letter: Letter };

/** Returns whether an agent does not go on without a person. */
export function needsPerson(agent: Agent): boolean {
  return agent.intent !== "stop" && (agent.phase === "asking" || agent.phase === "failed");
}

/** Returns all that a person is needed for. A key is the same for as long as it is the same need. */
export function needs(state: FleetState): Need[] {
  const found: Need[] = [];
  for (const agent of state.agents.values()) {
    if (!needsPerson(agent)) continue;
    const what = agent.phase === "failed" ? "failed" : "asking";
    found.push({ what, key: `${agent.id} ${what} ${agent.since}`, project: agent.project, agent });
  }
  for (const letter of openQuestions(state)) {
    found.push({ what: "question", key: letter.id, project: letter.project, letter });
  }
  return found;
}
