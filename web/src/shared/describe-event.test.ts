import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { event } from "../feed/samples";
import { describeEvent } from "./describe-event";

/** The events that the store writes, as it names them. */
const source = readFileSync(
  new URL("../../../crates/cmux-store/src/kinds.rs", import.meta.url),
  "utf8",
);
const kinds = [...source.matchAll(/=> "([a-z]+\.[a-z_]+)",/g)].map(([, kind]) => kind ?? "");

test("every event that there is, is said in words", () => {
  expect(kinds.length).toBeGreaterThan(45);
  const unsaid = kinds.filter((kind) => describeEvent(event(kind)).text === kind);
  expect(unsaid).toEqual([]);
});

/** What hooks mean, as the core names it. Those last have no words of their own. */
const core = readFileSync(
  new URL("../../../crates/cmux-core/src/hook.rs", import.meta.url),
  "utf8",
);
const meanings = [...core.matchAll(/Meaning::\w+(?: \{[^}]*\})? => "([a-z_]+)"/g)].map(
  ([, it]) => it,
);

test("whatever a hook means is said in words", () => {
  expect(meanings.length).toBeGreaterThan(14);
  const said = (means: string | undefined) =>
    describeEvent(event("hook.received", { name: "Odd", means })).text;
  const unsaid = meanings.filter((means) => said(means).includes("Odd"));
  expect(unsaid).toEqual(["notice", "other"]);
});

test.each<[string, object, string]>([
  ["agent.phase", { to: "limited", reason: "5h" }, "limited: 5h"],
  [
    "store.repaired",
    { events_missing: 2, what_was_wrong: "bad page" },
    "the store was repaired, 2 events missing: bad page",
  ],
  ["log.archived", { rows: 1, file: "a.jsonl" }, "1 old event went to a.jsonl"],
  ["password.changed", { set: true }, "the password was set"],
  [
    "hook.received",
    { name: "PreToolUse", means: "tool_began", tool: "Bash" },
    "says that it is about to use Bash",
  ],
  ["hook.received", { name: "Odd", means: "other" }, "says something that changes nothing: Odd"],
  ["something.new", {}, "something.new"],
])("%s with %j is %j", (kind, data, expected) => {
  expect(describeEvent(event(kind, data)).text).toBe(expected);
});
