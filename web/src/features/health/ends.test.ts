import { describe, expect, it } from "vitest";
import { event } from "../../feed/samples";
import { ENDS_MAX, endsOf, kindsAmong } from "./ends";

const NOW = Date.parse("2026-01-01T12:00:00.000Z");
const at = (id: number, kind: string, minutesAgo: number) =>
  event(kind, {}, { id, at: new Date(NOW - minutesAgo * 60_000).toISOString() });

describe("endsOf", () => {
  it.each([
    ["the newest first", [at(1, "agent.exited", 20), at(2, "daemon.started", 10)], [2, 1]],
    ["each once", [at(1, "agent.exited", 20), at(1, "agent.exited", 20)], [1]],
    ["none that is older than an hour", [at(1, "agent.exited", 61), at(2, "tmux.lost", 59)], [2]],
    ["nothing else", [at(1, "agent.phase", 1)], []],
  ])("has %s", (_, events, expected) => {
    expect(endsOf(events, NOW).map(({ id }) => id)).toEqual(expected);
  });

  it("has no more than are kept, the newest", () => {
    const many = Array.from({ length: ENDS_MAX + 5 }, (_, id) => at(id + 1, "agent.exited", 1));
    const ends = endsOf(many, NOW);
    expect([ends.length, ends[0]?.id]).toEqual([ENDS_MAX, ENDS_MAX + 5]);
  });
});

it.each([
  [[], []],
  [
    ["daemon.started", "agent.exited", "agent.exited"],
    ["agent.exited", "daemon.started"],
  ],
  [["agent.phase", "tmux.lost"], ["tmux.lost"]],
])("of %j there are the kinds %j", (kinds, among) => {
  expect(kindsAmong(kinds.map((kind, id) => at(id, kind, 1)))).toEqual(among);
});
