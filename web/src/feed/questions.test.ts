import { expect, test } from "vitest";
import type { Event, Message } from "../wire";
import { needs } from "./needs";
import { openQuestions, unanswered, withQuestions } from "./questions";
import { reduce, type Want } from "./reduce";
import { event, message, status } from "./samples";
import { begun, type FleetState } from "./state";

const START = begun(status(), []);

/** A message at a minute. */
const at = (minute: number, change: Partial<Message> = {}): Message =>
  message({
    id: `msg_${minute}`,
    created_at: `2026-01-01T10:${String(minute).padStart(2, "0")}:00.000Z`,
    ...change,
  });
const said = (minute: number, change: Partial<Message> = {}) =>
  at(minute, { from: "user", to: "api", kind: "response", ...change });

test.each<[string, Message[], Message[], string]>([
  ["is open while nothing was said", [at(1)], [], "msg_1"],
  ["is open though it was read", [at(1, { read_at: "2026-01-01T10:02:00.000Z" })], [], "msg_1"],
  ["is answered by what is said after it", [at(1)], [said(2)], ""],
  ["is not answered by what was said before", [at(3)], [said(2)], "msg_3"],
  ["is not answered elsewhere", [at(1)], [said(2, { thread: "msg_9" })], "msg_1"],
  ["is not answered by what was taken back", [at(1)], [said(2, { state: "cancelled" })], "msg_1"],
  ["is only one if it asks", [at(1, { kind: "status" })], [], ""],
  ["is told with others, oldest first", [at(3), at(1)], [], "msg_1 msg_3"],
])("a question %s", (_, toPerson, fromPerson, expected) => {
  const ids = unanswered(toPerson, fromPerson).map(({ id }) => id);
  expect(ids.join(" ")).toBe(expected);
});

const QUESTION = { message: "msg_1", thread: "msg_1", to: "user", from: "api", kind: "question" };
const ANSWER = { message: "msg_2", thread: "msg_1", to: "api", from: "user", attempts: 0 };

/** Returns the state after events, and what is asked for then. */
function after(...told: Array<[string, object, Partial<Event>?]>) {
  let state: FleetState = START;
  const wants: Want[] = [];
  for (const [number, [kind, data, change]] of told.entries()) {
    const reduced = reduce(state, event(kind, data, { id: 11 + number, ...change }));
    state = reduced.state;
    wants.push(...reduced.wants);
  }
  return { state, wants: wants.map(({ what }) => what) };
}

const open = (state: FleetState) => openQuestions(state).map(({ id }) => id);
const CAME: [string, object] = ["message.delivered", QUESTION];
const READ: [string, object] = ["message.read", { message: "msg_1" }];

test("a question needs the person until they answer, however often they read it", () => {
  const { state } = after(CAME, READ);
  expect(needs(state).map(({ key }) => key)).toEqual(["msg_1"]);
  expect(needs(after(CAME, READ, ["message.queued", ANSWER]).state)).toEqual([]);
});

test("an answer that came to nothing leaves the question open, and it is looked for", () => {
  const { state, wants } = after(CAME, ["message.queued", ANSWER], ["message.cancelled", ANSWER]);
  expect(wants).toContain("questions");
  expect(open(withQuestions(state, unanswered([at(1)], [])))).toEqual(["msg_1"]);
});

test("what was found by looking back was not answered meanwhile", () => {
  const { state } = after(["message.queued", ANSWER]);
  expect(open(withQuestions(state, unanswered([at(1)], [])))).toEqual([]);
  expect(open(withQuestions(START, unanswered([at(1)], [])))).toEqual(["msg_1"]);
});

test("a question of somebody whom no answer reaches is settled by reading it", () => {
  const gone: [string, object] = ["message.delivered", { ...QUESTION, from: "script:ci" }];
  expect(open(after(gone).state)).toEqual(["msg_1"]);
  expect(open(after(gone, READ).state)).toEqual([]);
  expect(open(after(CAME, READ, ["agent.removed", {}]).state)).toEqual([]);
});
