/** What the address of an agent's page holds. */

import { oneOf } from "../../shared/search";

export const AGENT_TABS = ["terminal", "conversation", "events", "facts"] as const;

export type AgentTab = (typeof AGENT_TABS)[number];

export type AgentSearch = { tab?: AgentTab | undefined };

export function agentSearch(search: Record<string, unknown>): AgentSearch {
  return { tab: oneOf(search, "tab", AGENT_TABS) };
}
