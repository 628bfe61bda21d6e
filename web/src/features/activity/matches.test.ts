import { expect, test } from "vitest";
import { AT, agent, event } from "../../feed/samples";
import type { Events } from "../../wire";
import { type Filter, fits } from "./filter";
import { MATCHES_MAX, noMatches, withNewer, withOlder } from "./matches";

const made = (...ids: number[]) => ids.map((id) => event("agent.phase", {}, { id }));
const answer = (ids: number[], scanned_from: number | null = null): Events => ({
  log: "log_1",
  head: 1_000,
  events: made(...ids),
  scanned_from,
  scanned_through: null,
});
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test.each<[string, Events, number | null]>([
  ["a part of the log that has none", answer([], 500), 500],
  ["a part of the log that has some", answer([700, 800], 500), 500],
  ["a page that is full", answer([700, 800], 700), 700],
  ["the beginning of the log", answer([2, 3], null), null],
  ["the first event", answer([], 1), null],
])("after %s it is known where to go on", (_, given, expected) => {
  expect(withOlder(noMatches(1_000), given).next).toBe(expected);
});

test("older and newer ones are put on both ends, each once", () => {
  let matches = withOlder(noMatches(10), answer([5, 8], 4));
  matches = withNewer(matches, made(8, 11));
  matches = withOlder(matches, answer([2, 5], null));
  expect(matches.events.map(({ id }) => id)).toEqual([2, 5, 8, 11]);
  expect(matches.origin).toBe(3);
  expect(withNewer(matches, made(11))).toBe(matches);
});

test("there are never too many", () => {
  const full = { ...noMatches(0), events: made(...upTo(MATCHES_MAX)) };
  const more = withNewer(full, made(MATCHES_MAX + 1));
  expect([more.events.length, more.events[0]?.id, more.next]).toEqual([MATCHES_MAX, 2, null]);
  expect(more.origin).toBe(-1);
});

const NAMES = new Map([["agt_1", "Api"]]);

test.each<[Filter, boolean]>([
  [{}, true],
  [{ project: "shop-1" }, true],
  [{ project: "blog-2" }, false],
  [{ agent: "agt_1" }, true],
  [{ agent: "agt_2" }, false],
  [{ kind: "agent." }, true],
  [{ kind: "agent.phase" }, true],
  [{ kind: "agent" }, false],
  [{ kind: "agent.phases" }, false],
  [{ q: "API" }, true],
  [{ q: "Rate LIMIT" }, true],
  [{ q: "agent.ph" }, true],
  [{ q: "operator" }, false],
  [{ q: "api", kind: "turn." }, false],
])("whether %j leaves the event: %j", (filter, expected) => {
  const told = event("agent.phase", { to: "limited", reason: "rate limit" }, { at: AT });
  expect(fits(told, filter, (id) => NAMES.get(id) ?? agent().name)).toBe(expected);
});

test.each([
  ['say "hi"', true],
  ['SAY \\"Hi\\"', true],
  ["say 'hi'", false],
  ["one\ntwo", true],
  ["one two", false],
  ["C:\\made", true],
  ["\u001b[1m", true],
  ["für", true],
  ["FÜR", false],
  ['"text":"', true],
  ["", true],
])("whether %j is found in what an event tells: %j", (q, expected) => {
  const text = 'Say "Hi" für one\ntwo in C:\\Made \u001b[1m';
  expect(fits(event("message.created", { text }), { q }, () => "")).toBe(expected);
});
