import { expect, test } from "vitest";
import type { Action } from "../shared/actions";
import { ranked } from "./rank";

const named = (title: string, keywords: string[] = []): Action => ({
  id: title,
  title,
  group: "Agents",
  keywords,
  run: () => {},
});

const ALL = [
  named("Spawn an agent", ["new", "launch"]),
  named("Stop an agent…"),
  named("worker-1", ["demo"]),
  named("worker-14", ["claude"]),
  named("api", ["worker", "codex"]),
];

test.each([
  ["", "Spawn an agent, Stop an agent…, worker-1"],
  ["launch", "Spawn an agent"],
  ["worker-14", "worker-14"],
  ["worker-1", "worker-1, worker-14"],
  ["worker", "worker-1, worker-14, api"],
  ["claude work", "worker-14"],
  ["spn", "Spawn an agent, Stop an agent…"],
  ["api", "api"],
  ["nothing of that", ""],
])("“%s” finds %s", (typed, found) => {
  const titles = ranked(ALL, typed, 3).map(({ title }) => title);
  expect(titles.join(", ")).toBe(found);
});
