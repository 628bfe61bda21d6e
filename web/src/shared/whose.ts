/** The filters that say whose things are wanted: of a project, of an agent. */

import { useAgents, useProjects } from "../feed/store";
import type { Filter } from "./filter-bar";

type Whose = { project?: string | undefined; agent?: string | undefined };

/** Returns both filters. Another project is of other agents. */
export function useWhose({ project, agent }: Whose, onChange: (change: Whose) => void): Filter[] {
  const projects = useProjects();
  const agents = useAgents(project);
  const named = new Map(projects.map(({ id, name }) => [id, name]));
  return [
    {
      label: "Project",
      all: "All projects",
      value: project,
      options: projects.map(({ id, name }) => ({ value: id, label: name })),
      onChange: (next) => onChange({ project: next, agent: undefined }),
    },
    {
      label: "Agent",
      all: "All agents",
      value: agent,
      options: agents.map(({ id, name, project: place }) => ({
        value: id,
        label: name,
        ...(projects.length > 1 ? { note: named.get(place) ?? place } : {}),
      })),
      onChange: (next) => onChange({ agent: next }),
    },
  ];
}
