import { expect, test } from "vitest";
import { deliveredIn } from "./delivered";

const first = "[cmux dlv_1 from user · user · msg_1]";
const second = "[cmux and dlv_1 from api@shop · question · msg_2]";

test.each<[string, string, string[] | null]>([
  ["one message", `${first}\nHello\n\nyou`, ["user user msg_1: Hello\n\nyou"]],
  [
    "several",
    `${first}\none\n\n${second}\ntwo`,
    ["user user msg_1: one", "api@shop question msg_2: two"],
  ],
  [
    "a line of another delivery as text",
    `${first}\none\n[cmux and dlv_9 from user · task · msg_9]`,
    ["user user msg_1: one\n[cmux and dlv_9 from user · task · msg_9]"],
  ],
  ["nothing of a person's own prompt", "Hello\n[cmux dlv_1 from user · user · msg_1]", null],
  ["nothing of an unknown kind", "[cmux dlv_1 from user · song · msg_1]\nla", null],
])("reads %s", (_, text, expected) => {
  const said = deliveredIn(text);
  const words = said?.map(({ from, kind, message, body }) => `${from} ${kind} ${message}: ${body}`);
  expect(words ?? null).toEqual(expected);
});
