import { describe, expect, it } from "vitest";
import { AT, agent, message } from "../../../feed/samples";
import type { Moment } from "../../../wire";
import { threadsOf, turnsOf } from "./history";

const turn = (id: string): Moment => ({
  what: "turn",
  id,
  run: null,
  began_at: AT,
  ended_at: null,
  how: null,
  messages: [],
  tools: [],
  calls: 0,
  usage: agent().usage,
});
const letter = (id: string, thread: string): Moment => ({
  what: "message",
  ...message({ id, thread }),
});

const PAGES = [
  { history: [turn("3"), letter("msg_2", "msg_1"), turn("2")], next: "x" },
  { history: [turn("2"), letter("msg_1", "msg_1"), turn("1")], next: null },
];

describe("history", () => {
  it("has each turn once, in its order", () => {
    expect(turnsOf(PAGES).map(({ id }) => id)).toEqual(["3", "2", "1"]);
  });

  it("knows the thread of each message", () => {
    expect([...threadsOf(PAGES)]).toEqual([
      ["msg_2", "msg_1"],
      ["msg_1", "msg_1"],
    ]);
  });
});
