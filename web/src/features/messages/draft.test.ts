import { expect, test } from "vitest";
import { type Draft, EMPTY, keyed, readDraft } from "./draft";

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

test.each<[string | null, Draft]>([
  [null, EMPTY],
  ["", EMPTY],
  ["null", EMPTY],
  ['{"kind":"nothing","tried":7,"body":3}', EMPTY],
  [JSON.stringify(draft), draft],
])("what was kept as %j is read", (kept, expected) => {
  expect(readDraft(kept)).toEqual(expected);
});
