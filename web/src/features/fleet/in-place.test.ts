import { expect, test } from "vitest";
import { AT, agent } from "../../feed/samples";
import type { Agent, Phase, Project } from "../../wire";
import { inPlace } from "./in-place";
import { between, type Line, linesOf } from "./lines";

const SHOP: Project = {
  id: "shop-1",
  name: "shop",
  root: "/s",
  created_at: AT,
  missing_since: null,
};

/** Returns the lines of agents that are named and, after a colon, in a phase. */
function linesFor(team: string): Line[] {
  const agents = team.split(" ").map((said): Agent => {
    const [name = "", phase = "idle"] = said.split(":");
    return agent({ id: name, name, phase: phase as Phase });
  });
  return linesOf({ agents, projects: [SHOP], query: "", isOne: false });
}

const wordOf = (line: Line) =>
  line.what === "agent" ? `${line.agent.name}:${line.agent.phase}` : line.key;

test.each<[string, string, string, string]>([
  ["who asks stays where they were", "a b", "a b:asking", "shop-1 a:idle b:asking"],
  ["who asks no more stays first", "a b:asking", "a b", "needs b:idle shop-1 a:idle"],
  ["who is gone is left out", "a b c", "a c", "shop-1 a:idle c:idle"],
  ["who is new comes after whom they follow", "a c", "a b c", "shop-1 a:idle b:idle c:idle"],
  ["who is new and asks comes last", "a c", "a b:failed c", "shop-1 a:idle c:idle b:failed"],
])("while a row is used, %s", (_, before, after, expected) => {
  expect(inPlace(linesFor(before), linesFor(after)).map(wordOf).join(" ")).toBe(expected);
});

test.each([
  ["b", "d", "b c d"],
  ["d", "b", "b c d"],
  ["gone", "c", "c"],
])("from %s to %s are %s", (from, to, expected) => {
  expect(between(linesFor("a b c d"), from, to).join(" ")).toBe(expected);
});
