/** To whom something is written: how agents are called, and who is meant by what was typed. Pure. */

import type { Agent, Project } from "../../wire";

/** An agent as it is offered. */
export type Recipient = {
  agent: Agent;
  /** The project's name, or its id if that is all that is known. */
  project: string;
  /** What is written to mean this one: its name, with its project if others are called so. */
  address: string;
};

type Known = { agents: Iterable<Agent>; projects: ReadonlyMap<string, Project> };

const natural = new Intl.Collator("en", { numeric: true });

/** Returns all who can be written to, by name. */
export function recipientsOf({ agents, projects }: Known): Recipient[] {
  const all = [...agents];
  const named = new Map<string, number>();
  for (const { name } of all) named.set(name, (named.get(name) ?? 0) + 1);
  const names = [...projects.values()].map(({ name }) => name);
  return all
    .map((agent): Recipient => {
      const known = projects.get(agent.project);
      const project = known?.name ?? agent.project;
      // Two projects may have one name; their ids differ.
      const place = names.filter((name) => name === project).length > 1 ? agent.project : project;
      const isOne = named.get(agent.name) === 1;
      return { agent, project, address: isOne ? agent.name : `${agent.name}@${place}` };
    })
    .sort((one, other) => natural.compare(one.address, other.address));
}

/** Returns those whom the typed text may mean, the likeliest first. */
export function completions(all: ReadonlyArray<Recipient>, typed: string): Recipient[] {
  const [name = "", place] = typed.trim().toLowerCase().split("@");
  const ranked = all.flatMap((one) => {
    const rank = rankOf(one, name, place);
    return rank === null ? [] : [{ one, rank }];
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ one }) => one);
}

function rankOf({ agent, project }: Recipient, name: string, place?: string): number | null {
  const [called, where] = [agent.name.toLowerCase(), project.toLowerCase()];
  if (place !== undefined) {
    const isThere = where.startsWith(place) || agent.project.toLowerCase().startsWith(place);
    if (!isThere) return null;
    return called === name ? 0 : called.startsWith(name) ? 1 : null;
  }
  if (called === name) return 0;
  if (called.startsWith(name)) return 1;
  if (called.includes(name)) return 2;
  return where.includes(name) || agent.role.toLowerCase().includes(name) ? 3 : null;
}

/** Returns the one who is meant, if it can only be one: by id, by name, or as `name@project`. */
export function meant(all: ReadonlyArray<Recipient>, typed: string): Recipient | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  const byId = all.find(({ agent }) => agent.id === text);
  if (byId !== undefined) return byId;
  const [name = "", place] = text.toLowerCase().split("@");
  const found = all.filter(
    ({ agent, project }) =>
      agent.name.toLowerCase() === name &&
      (place === undefined || project.toLowerCase() === place || agent.project === place),
  );
  return found.length === 1 ? found[0] : undefined;
}
