import { expect, test } from "vitest";
import { AT, agent } from "../../feed/samples";
import type { Project } from "../../wire";
import { completions, meant, recipientsOf } from "./recipients";

const project = (id: string, name: string): Project => ({
  id,
  name,
  root: "/",
  created_at: AT,
  missing_since: null,
});
const projects = new Map(
  [project("shop-1", "shop"), project("blog-2", "blog")].map((one) => [one.id, one]),
);
const all = recipientsOf({
  agents: [
    agent({ id: "agt_1", name: "boss", role: "supervisor" }),
    agent({ id: "agt_2", name: "boss", project: "blog-2", role: "supervisor" }),
    agent({ id: "agt_3", name: "worker-10" }),
    agent({ id: "agt_4", name: "worker-2" }),
  ],
  projects,
});

test("a name that only one has is enough", () => {
  const addresses = all.map(({ address }) => address);
  expect(addresses).toEqual(["boss@blog", "boss@shop", "worker-2", "worker-10"]);
});

test.each([
  ["", "boss@blog boss@shop worker-2 worker-10"],
  ["w", "worker-2 worker-10"],
  ["WORKER-10", "worker-10"],
  ["10", "worker-10"],
  ["boss@s", "boss@shop"],
  ["@blog", "boss@blog"],
  ["blog", "boss@blog"],
  ["superv", "boss@blog boss@shop"],
  ["nobody", ""],
])("%j may mean %j", (typed, expected) => {
  const found = completions(all, typed).map(({ address }) => address);
  expect(found.join(" ")).toBe(expected);
});

test.each([
  ["worker-2", "agt_4"],
  [" Boss@Shop ", "agt_1"],
  ["boss@blog-2", "agt_2"],
  ["agt_3", "agt_3"],
  ["boss", undefined],
  ["work", undefined],
  ["", undefined],
])("%j means %j", (typed, expected) => {
  expect(meant(all, typed)?.agent.id).toBe(expected);
});
