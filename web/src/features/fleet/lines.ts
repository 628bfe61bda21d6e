/** The lines of the fleet: who needs a person first, then each project with its agents. Pure. */

import { needsPerson } from "../../feed/needs";
import { describeStanding } from "../../shared/describe";
import type { Agent, Project } from "../../wire";

export type Line =
  | { what: "needs"; key: string; count: number }
  | { what: "project"; key: string; project: Project; count: number }
  | { what: "agent"; key: string; agent: Agent; project: Project | undefined }
  | { what: "none"; key: string; project: Project };

type Shown = {
  agents: ReadonlyArray<Agent>;
  projects: ReadonlyArray<Project>;
  /** What was typed to find somebody. */
  query: string;
  /** Whether only one project is shown, which then needs no heading. */
  isOne: boolean;
};

/** Returns the lines in the order in which they are shown. */
export function linesOf({ agents, projects, query, isOne }: Shown): Line[] {
  const shown = agents.filter((agent) => fits(agent, query)).sort(order);
  const named = new Map(projects.map((project) => [project.id, project]));
  const needing = shown.filter(needsPerson);
  const lines: Line[] = [];
  if (needing.length > 0) {
    lines.push({ what: "needs", key: "needs", count: needing.length });
    for (const agent of needing) lines.push(lineOf(agent, isOne ? undefined : named));
  }
  for (const project of projects) {
    const members = shown.filter((agent) => agent.project === project.id && !needsPerson(agent));
    const isEmpty = !agents.some((agent) => agent.project === project.id);
    if (members.length === 0 && !(isEmpty && query === "")) continue;
    if (!isOne || needing.length > 0) {
      lines.push({ what: "project", key: project.id, project, count: members.length });
    }
    for (const agent of members) lines.push(lineOf(agent, undefined));
    if (isEmpty) lines.push({ what: "none", key: `none ${project.id}`, project });
  }
  return lines;
}

function lineOf(agent: Agent, named: ReadonlyMap<string, Project> | undefined): Line {
  return { what: "agent", key: agent.id, agent, project: named?.get(agent.project) };
}

/** Returns the agents from one to another, both included, in the order of the lines. */
export function between(lines: ReadonlyArray<Line>, from: string, to: string): string[] {
  const ids = lines.flatMap((line) => (line.what === "agent" ? [line.key] : []));
  const [one, other] = [ids.indexOf(from), ids.indexOf(to)];
  if (one === -1 || other === -1) return [to];
  return ids.slice(Math.min(one, other), Math.max(one, other) + 1);
}

/** Returns whether each word of `query` is in an agent's name, role or kind, or in what its phase is called anywhere. */
export function fits(agent: Agent, query: string): boolean {
  const { name, role, kind, phase } = agent;
  const text = `${name} ${role} ${kind} ${phase} ${describeStanding(agent)}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const natural = new Intl.Collator("en", { numeric: true });

/** Supervisors come before those they lead; the rest is by name, `worker-2` before `worker-10`. */
function order(one: Agent, other: Agent): number {
  const leads = Number(other.role === "supervisor") - Number(one.role === "supervisor");
  return leads || natural.compare(one.name, other.name);
}
