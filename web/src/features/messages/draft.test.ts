import { expect, test } from "vitest";
import { type Draft, EMPTY, keyed, leftOf, readDraft } from "./draft";

const draft: Draft = { ...EMPTY, to: "api", body: "Hello" };

test("the same is sent again with the same key, and anything else with a new one", () => {
  let made = 0;
  const next = () => `key-${++made}`;
  const sent = keyed(draft, { to: "agt_1" }, next);
  expect(keyed(sent, { to: "agt_1" }, next).tried.key).toBe("key-1");
  expect(keyed({ ...sent, body: "Hello!" }, { to: "agt_1" }, next).tried.key).toBe("key-2");
  expect(keyed({ ...sent, interrupt: true }, { to: "agt_1" }, next).tried.key).toBe("key-3");
  expect(keyed(sent, { to: "agt_2" }, next).tried.key).toBe("key-4");
  expect(keyed(readDraft(JSON.stringify(sent)), { to: "agt_1" }, next).tried.key).toBe("key-1");
});

test.each([
  ["all of it", "Hello", ""],
  ["it, with a line begun", "Hello\n", ""],
  ["it, with more after it", "Hello\n\nAnd then?", "And then?"],
  ["it, changed", "Hallo", "Hallo"],
  ["it, with more before it", "Oh. Hello", "Oh. Hello"],
  ["nothing any more", "", ""],
])("of a draft that is %s, what was not sent is left", (_, body, left) => {
  const sent = keyed(draft, {}, () => "key");
  expect(leftOf({ ...sent, body }, "Hello")).toEqual(
    left === "" && body !== "" ? EMPTY : { ...draft, body: left },
  );
});

test("what was sent and is written again is sent again", () => {
  const sent = keyed(draft, {}, () => "key-1");
  const left = leftOf({ ...sent, body: "Hell" }, "Hello");
  expect(keyed({ ...left, body: "Hello" }, {}, () => "key-2").tried.key).toBe("key-2");
});

test.each<[string | null, Draft]>([
  [null, EMPTY],
  ["", EMPTY],
  ["null", EMPTY],
  ['{"kind":"nothing","tried":7,"body":3}', EMPTY],
  [JSON.stringify(draft), draft],
])("what was kept as %j is read", (kept, expected) => {
  expect(readDraft(kept)).toEqual(expected);
});
