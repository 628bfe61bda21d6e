/** What the palette offers of agents' pages on every page: each tab of each agent. */

import {
  Info,
  Keyboard,
  type LucideIcon,
  MessagesSquare,
  ScrollText,
  SquareTerminal,
} from "lucide-react";
import { getFleet } from "../../feed/store";
import type { Action } from "../../shared/actions";
import { answer } from "../../shared/answer";
import { go } from "../../shared/go";
import { AGENT_TABS, type AgentTab } from "./search";

/** Says what is done by opening a tab. */
function describe(tab: AgentTab): { title: string; icon: LucideIcon; keywords: string[] } {
  switch (tab) {
    case "terminal":
      return { title: "Watch the terminal of…", icon: SquareTerminal, keywords: ["attach"] };
    case "conversation":
      return { title: "Read the conversation of…", icon: MessagesSquare, keywords: ["transcript"] };
    case "events":
      return { title: "See the events of…", icon: ScrollText, keywords: ["log"] };
    case "facts":
      return {
        title: "See the facts of…",
        icon: Info,
        keywords: ["why", "usage", "turns", "cost"],
      };
  }
}

export function agentActions(): Action[] {
  const agents = [...(getFleet()?.agents.values() ?? [])];
  if (agents.length === 0) return [];
  const answers = agents
    .filter(({ phase }) => phase === "asking")
    .map((agent) => ({
      id: `answer ${agent.id}`,
      title: `Answer ${agent.name}`,
      group: "Agents",
      keywords: ["permission", "question", "approve", "asking"],
      icon: Keyboard,
      run: () => answer(agent),
    }));
  const tabs = AGENT_TABS.map((tab) => {
    const { title, icon, keywords } = describe(tab);
    const more = () =>
      agents.map(({ id, name, role, kind }) => ({
        id: `${tab} ${id}`,
        title: name,
        group: title,
        keywords: [role, kind],
        icon,
        run: () => go({ to: "/agents/$agent", params: { agent: id }, search: { tab } }),
      }));
    return { id: `tab ${tab}`, title, group: "Agents", keywords, icon, run: () => {}, more };
  });
  return [...answers, ...tabs];
}
