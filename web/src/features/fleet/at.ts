/** Which project the person is at, by the address of the page. Pure. */

import type { Agent } from "../../wire";

/** Returns the project of a project's page, or of an agent's; none on a page of all. */
export function projectAt(
  path: string,
  agents: ReadonlyMap<string, Pick<Agent, "project">>,
): string | undefined {
  const [, place, id = ""] = path.split("/");
  if (place === "projects" && id !== "") return id;
  return place === "agents" ? agents.get(id)?.project : undefined;
}
