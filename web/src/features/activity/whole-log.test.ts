import { expect, it } from "vitest";
import { event } from "../../feed/samples";
import { archivedThrough } from "./whole-log";

it.each([
  ["nothing of it", [event("agent.phase", { through: 9 })], 0],
  ["an archive", [event("log.archived", { through: 40 }), event("agent.phase")], 40],
  ["two", [event("log.archived", { through: 40 }), event("log.archived", { through: 60 })], 60],
  ["one that does not say how far", [event("log.archived")], 0],
])("knows up to where the log was archived from %s", (_, events, through) => {
  expect(archivedThrough(events)).toBe(through);
});
