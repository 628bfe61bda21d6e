/** What the palette offers of the fleet on every page: each agent, and what can be done to it. */

import { Bot, Plus } from "lucide-react";
import { getFleet } from "../../feed/store";
import type { Action } from "../../shared/actions";
import { go } from "../../shared/go";
import { canTend, describeTending, TENDINGS, type Tending, tend } from "../../shared/tend";
import type { Agent } from "../../wire";
import { projectAt } from "./at";

export function fleetActions(): Action[] {
  const spawn: Action = {
    id: "spawn",
    title: "Spawn an agent",
    group: "Agents",
    keywords: ["new", "launch", "start"],
    icon: Plus,
    run: spawnHere,
  };
  const agents = [...(getFleet()?.agents.values() ?? [])];
  return [spawn, ...TENDINGS.flatMap((what) => tending(agents, what)), ...agents.map(opening)];
}

/** Asks for a new agent in the project that the person is at, over what is shown if that is the fleet. */
function spawnHere(): void {
  const { pathname } = location;
  const project = projectAt(pathname, getFleet()?.agents ?? new Map());
  const isFleet = pathname === "/" || pathname === `/projects/${project}`;
  const search = (old: object) => ({ ...(isFleet ? old : {}), new: "agent" });
  if (project === undefined) go({ to: "/", search });
  else go({ to: "/projects/$project", params: { project }, search });
}

function opening(agent: Agent): Action {
  return {
    id: `open ${agent.id}`,
    title: agent.name,
    group: "Open an agent",
    keywords: [agent.role, agent.kind, agent.phase, projectName(agent)],
    icon: Bot,
    run: () => go({ to: "/agents/$agent", params: { agent: agent.id } }),
  };
}

/** Returns the action that asks whom to do something to, if there is anybody. */
function tending(agents: ReadonlyArray<Agent>, what: Tending): Action[] {
  const able = agents.filter((agent) => canTend(agent, what));
  if (able.length === 0) return [];
  const { label, icon } = describeTending(what);
  const more = () =>
    able.map((agent) => ({
      id: `${what} ${agent.id}`,
      title: agent.name,
      group: `${label} which agent?`,
      keywords: [agent.role, agent.kind, projectName(agent)],
      icon,
      run: () => void tend(agent, what),
    }));
  return [{ id: what, title: `${label} an agent…`, group: "Agents", icon, run: () => {}, more }];
}

function projectName(agent: Agent): string {
  return getFleet()?.projects.get(agent.project)?.name ?? "";
}
