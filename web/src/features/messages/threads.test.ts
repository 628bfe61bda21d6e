import { expect, test } from "vitest";
import { agent, message } from "../../feed/samples";
import type { Message } from "../../wire";
import {
  answered,
  firstLine,
  heldIn,
  inboxLines,
  inWords,
  lengthOf,
  merged,
  partners,
  type Section,
  threadsOf,
} from "./threads";

/** A message of a thread at a minute. */
const at = (id: string, minute: number, change: Partial<Message> = {}) =>
  message({
    id,
    thread: id,
    created_at: `2026-01-01T10:${String(minute).padStart(2, "0")}:00.000Z`,
    read_at: "2026-01-01T11:00:00.000Z",
    ...change,
  });

const ids = (messages: ReadonlyArray<Message>) => messages.map(({ id }) => id).join(" ");

test("threads are in the order of their newest message", () => {
  const threads = threadsOf([at("a", 1), at("b", 2), at("a2", 3, { thread: "a" })]);
  expect(threads.map(({ id, newest }) => `${id}:${newest.id}`)).toEqual(["a:a2", "b:b"]);
  expect(ids(threads[0]?.messages ?? [])).toBe("a2 a");
});

test("lists that are read in pages are one only as far as all were read", () => {
  const long = { messages: [at("d", 9), at("c", 5)], hasMore: true };
  const short = { messages: [at("d", 9), at("b", 7), at("a", 1)], hasMore: false };
  expect(ids(merged([long, short]))).toBe("d b c");
  expect(ids(merged([{ ...long, hasMore: false }, short]))).toBe("d b c a");
  expect(ids(merged([]))).toBe("");
});

test("the inbox has questions first, then what is unread, and holds what was opened", () => {
  const messages = [
    at("old", 9, { kind: "question" }),
    at("news", 8, { kind: "status", read_at: null }),
    at("ask", 1, { kind: "question" }),
  ];
  const threads = threadsOf(messages, new Set(["ask"]));
  const lines = (held: [string, Section][] = []) =>
    inboxLines(threads, new Map(held)).map(({ key }) => key);
  expect(lines()).toEqual(["questions", "ask", "unread", "news", "rest", "old"]);
  expect(lines([["old", "questions"]])).toEqual(["questions", "old", "ask", "unread", "news"]);
});

test.each<[Section | undefined, Section, Section]>([
  [undefined, "rest", "rest"],
  ["questions", "rest", "questions"],
  ["unread", "rest", "unread"],
  ["rest", "questions", "questions"],
])("what is held in %s and belongs to %s is in %s", (held, section, expected) => {
  expect(heldIn(held, section)).toBe(expected);
});

test.each<[string, string, boolean, string]>([
  ["all mail from its first message on", "a b c", true, "3 messages"],
  ["all mail, but not as far as its first message", "b c", true, "2+ messages"],
  ["a part of the mail, such as what is to the person", "a c", false, "2+ messages"],
])("how many are in a conversation is told truly of %s", (_, listed, isOfAll, expected) => {
  const messages = listed.split(" ").map((id, minute) => at(id, minute, { thread: "a" }));
  const [thread] = threadsOf(messages);
  expect(thread && lengthOf(thread, isOfAll)).toBe(expected);
});

test("what is not to the person is not unread", () => {
  const [thread] = threadsOf([at("a", 1, { to: "api", read_at: null })]);
  expect(thread?.unread).toBe(0);
});

test.each([
  ["Hello", "Hello"],
  ["\n\n# Title\ntext", "Title"],
  ["> - **Bold** `code`", "Bold code"],
  ["---\nafter", "after"],
  ["   ", "(empty)"],
])("the first line of %j is %j", (body, expected) => {
  expect(firstLine(body)).toBe(expected);
});

test.each([
  ["cmux", "Your message to api is failed: gone"],
  ["api", "Your message msg_01M7R5XXYRNHJ73VM3RDEMVTB0 to api is failed: gone"],
])("what %s says of a message is read as %j", (from, expected) => {
  const body = "Your message msg_01M7R5XXYRNHJ73VM3RDEMVTB0 to api is failed: gone";
  expect(inWords({ from, body })).toBe(expected);
});

test("whoever spoke last is answered, and the one who was spoken to if nobody did", () => {
  const api = agent({ id: "agt_1", name: "api" });
  const web = agent({ id: "agt_2", name: "web", project: "blog-2" });
  const names = (messages: Message[]) =>
    partners(messages, [api, web]).map((one) => `${one.agent.name}/${one.replyTo}`);
  expect(names([at("a", 1, { from: "user", to: "api" })])).toEqual(["api/a"]);
  const both = [
    at("a", 1, { from: "web@blog-2", to: "api" }),
    at("b", 2, { from: "api", to: "user" }),
  ];
  expect(names(both)).toEqual(["api/b", "web/a"]);
  expect(names([at("a", 1, { from: "cmux", to: "user" })])).toEqual([]);
});

test.each<[string, string, string | null, string | null, string | undefined]>([
  ["the one who spoke last", "api web", null, null, "api"],
  ["the one who was chosen", "api web", null, "web", "web"],
  ["the one who spoke last once the chosen one is gone", "api", null, "web", "api"],
  ["the one it was begun to, though another speaks", "web api", "api", null, "api"],
  ["the one it was begun to, whoever was chosen before", "web api", "api", "web", "api"],
  ["nobody once the one it was begun to is gone", "web", "api", null, undefined],
  ["nobody where nobody is", "", null, null, undefined],
])("%s is answered", (_, names, begun, chosen, expected) => {
  const others = names
    .split(" ")
    .filter((name) => name !== "")
    .map((name) => ({ agent: agent({ id: name, name }), replyTo: `to ${name}` }));
  expect(answered(others, { begun, chosen })?.agent.name).toBe(expected);
});
