import { expect, test } from "vitest";
import type { MessagesWanted } from "../../api/routes";
import { agent, event, LATER, message } from "../../feed/samples";
import type { Message } from "../../wire";
import {
  applied,
  bounded,
  type Change,
  changed,
  countOf,
  fits,
  listed,
  mostOf,
  type Pages,
  stateTold,
} from "./pages";

const api = agent({ id: "agt_1", name: "api" });
const agentOf = (id: string) => (id === api.id ? api : undefined);

const told = (kind: string, data: object = {}): Change => ({
  what: "event",
  event: event(kind, { message: "msg_1", ...data }),
});

function pagesOf(...pages: Message[][]): Pages {
  return {
    pages: pages.map((messages, at) => ({ messages, next: at < pages.length - 1 ? "1" : null })),
    pageParams: pages.map(() => null),
  };
}

const states = ({ pages }: Pages) =>
  pages.map(({ messages }) => messages.map(({ id, state }) => `${id}:${state}`).join(" "));

/** Checks what a change makes of one message that is queued. */
function check(change: Change, expected: string[], wanted: MessagesWanted = {}): void {
  const list = pagesOf([message({ to: "api", state: "queued", waiting_for: "busy" })]);
  expect(states(applied(list, change, wanted, agentOf))).toEqual(expected);
}

test("an event changes a message where it is, and takes it out where it does not belong", () => {
  check(told("message.typing"), ["msg_1:typing"]);
  check(told("message.typing"), [""], { state: "queued" });
  check(told("message.typing"), ["msg_1:typing"], { to: "agt_1" });
  check(told("message.failed", { message: "msg_2" }), ["msg_1:queued"]);
  check(told("agent.phase"), ["msg_1:queued"]);
});

test("each event of a message says what it is after it", () => {
  const before = message({ to: "api", state: "typing", read_at: null, reason: "old" });
  const after = (kind: string, data: object = {}) =>
    changed(before, event(kind, { message: "msg_1", ...data }));
  expect(after("message.delivered", { evidence: "turn", attempts: 2 })).toMatchObject({
    state: "delivered",
    evidence: "turn",
    attempts: 2,
    reason: null,
    delivered_at: LATER,
  });
  expect(after("message.failed", { reason: "gone" })).toMatchObject({ reason: "gone" });
  expect(after("message.read")).toMatchObject({ read_at: LATER, state: "typing" });
  expect(after("message.retried")).toMatchObject({ state: "queued", reason: null });
  expect(after("message.unheard_of")).toBe(before);
});

test("a new message is put in its place, once, and not into pages that were not read", () => {
  const old = message({ id: "msg_0", created_at: "2026-01-01T09:00:00.000Z" });
  const fresh: Change = { what: "message", message: message({ id: "msg_2" }) };
  const once = applied(pagesOf([old]), fresh, {}, agentOf);
  expect(states(once)).toEqual(["msg_2:delivered msg_0:delivered"]);
  expect(states(applied(once, fresh, {}, agentOf))).toEqual(states(once));
  expect(states(applied(pagesOf([old]), fresh, { to: "agt_1" }, agentOf))).toEqual([
    "msg_0:delivered",
  ]);
  const older: Change = { what: "message", message: { ...old, id: "msg_9" } };
  const cut: Pages = { pages: [{ messages: [message()], next: "5" }], pageParams: [null] };
  expect(applied(cut, older, {}, agentOf)).toBe(cut);
});

test.each<MessagesWanted>([{}, { thread: "msg_1" }])(
  "however much comes into the list of %j, it keeps the newest",
  (wanted) => {
    const most = mostOf(wanted);
    const old = (id: string) => message({ id, created_at: "2026-01-01T09:00:00.000Z" });
    let list = pagesOf([old("msg_b")], [old("msg_a")]);
    for (let n = 1; n <= most + 10; n += 1) {
      const created_at = new Date(Date.parse("2026-01-01T10:00:00.000Z") + n).toISOString();
      const fresh = message({ id: `msg_${n}`, created_at });
      list = applied(list, { what: "message", message: fresh }, wanted, agentOf);
    }
    expect(countOf(list)).toBe(most);
    expect(list.pages[0]?.messages[0]?.id).toBe(`msg_${most + 10}`);
    expect(list.pages.at(-1)?.next).toBe(null);
    expect(bounded(list, wanted)).toBe(list);
  },
);

test("a body that was read in full is not cut again", () => {
  const whole = message({ body: "long text", body_cut: false });
  const cut: Change = { what: "message", message: message({ body: "long", body_cut: true }) };
  const after = applied(pagesOf([whole]), cut, {}, agentOf);
  expect(after.pages[0]?.messages[0]).toMatchObject({ body: "long text", body_cut: false });
});

test("a list has no more of a body than its rows need, and a conversation as much as is told", () => {
  const long: Change = { what: "message", message: message({ body: "x".repeat(5_000) }) };
  const bodyIn = (wanted: MessagesWanted) =>
    applied(pagesOf([]), long, wanted, agentOf).pages[0]?.messages[0];
  expect([bodyIn({})?.body.length, bodyIn({})?.body_cut]).toEqual([1_024, true]);
  expect(bodyIn({ thread: "msg_1" })).toMatchObject({ body: "x".repeat(5_000), body_cut: false });
});

test("of a long body only the beginning is listed", () => {
  const short = message();
  expect(listed(short)).toBe(short);
  const long = listed(message({ body: "x".repeat(9_000), body_bytes: 9_000 }));
  expect([long.body.length, long.body_bytes, long.body_cut]).toEqual([8_192, 9_000, true]);
});

test.each<[Partial<Message>, MessagesWanted, boolean]>([
  [{ from: "api" }, { from: "agt_1" }, true],
  [{ from: "api@shop-1", project: "blog-2" }, { from: "agt_1" }, true],
  [{ from: "api", project: "blog-2" }, { from: "agt_1" }, false],
  [{ to: "user" }, { to: "user" }, true],
  [{ to: "api" }, { to: "user" }, false],
  [{ to: "api" }, { to: "agt_gone" }, false],
  [{ read_at: null }, { unread: true }, true],
  [{ read_at: LATER }, { unread: true }, false],
  [{ thread: "msg_7" }, { thread: "msg_1" }, false],
  [{ project: "blog-2" }, { project: "shop-1" }, false],
])("whether %j is in the list of %j: %j", (change, wanted, expected) => {
  expect(fits(message(change), wanted, agentOf)).toBe(expected);
});

test("only the states that there are, are told", () => {
  expect(stateTold("message.in_doubt")).toBe("in_doubt");
  expect(stateTold("message.read")).toBe(null);
  expect(stateTold("agent.queued")).toBe(null);
});
