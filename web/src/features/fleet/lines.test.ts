import { expect, test } from "vitest";
import { AT, agent } from "../../feed/samples";
import type { Agent, Project } from "../../wire";
import { fits, type Line, linesOf } from "./lines";

const SHOP: Project = {
  id: "shop-1",
  name: "shop",
  root: "/s",
  created_at: AT,
  missing_since: null,
};
const BLOG: Project = { ...SHOP, id: "blog-2", name: "blog" };

/** Checks how the lines read, one word each. */
function check(agents: Agent[], expected: string, query = "", projects = [BLOG, SHOP]): void {
  const lines = linesOf({ agents, projects, query, isOne: projects.length === 1 });
  const words = lines.map(wordOf);
  expect(words.join(" ")).toBe(expected);
}

function wordOf(line: Line): string {
  switch (line.what) {
    case "needs":
      return "NEEDS";
    case "project":
      return line.project.name.toUpperCase();
    case "agent":
      return line.agent.name;
    case "none":
      return "(none)";
  }
}

const named = (name: string, change: Partial<Agent> = {}) => agent({ id: name, name, ...change });

test("supervisors are first, and numbers are in order", () => {
  const team = [named("w-10"), named("w-2"), named("boss", { role: "supervisor" })];
  check(team, "BLOG (none) SHOP boss w-2 w-10");
});

test("who needs a person is before all, and only there", () => {
  const team = [named("a"), named("b", { phase: "asking" }), named("c", { phase: "failed" })];
  check(team, "NEEDS b c BLOG (none) SHOP a");
  check(team, "NEEDS b c SHOP a", "", [SHOP]);
  check([named("a")], "a", "", [SHOP]);
});

test("what was typed leaves only those it fits", () => {
  const team = [named("api"), named("web", { role: "reviewer" }), named("x", { phase: "busy" })];
  check(team, "SHOP web", "review");
  check(team, "SHOP x", "busy demo");
  check(team, "", "nobody");
  expect(fits(named("Api"), "API")).toBe(true);
});

test.each<[string, Partial<Agent>, boolean]>([
  ["needs you", { phase: "asking" }, true],
  ["asking", { phase: "asking" }, true],
  ["needs you", { phase: "busy" }, false],
  ["paused", { intent: "pause" }, true],
  ["paused idle", { intent: "pause" }, true],
  ["paused", {}, false],
  ["Stopped", { intent: "stop", phase: "offline" }, true],
  ["stopped", { intent: "run", phase: "offline" }, false],
  ["limited", { phase: "limited" }, true],
])("“%s” finds one that is %o: %s", (query, change, expected) => {
  expect(fits(named("x", change), query)).toBe(expected);
});
