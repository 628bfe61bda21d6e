import { expect, test } from "vitest";
import { advance, named } from "./keys";

const KNOWN = ["g f", "g i", "j", "?", "mod+k", "i"];

test.each([
  [null, "j", "j", null],
  [null, "g", null, "g"],
  ["g", "f", "g f", null],
  ["g", "i", "g i", null],
  [null, "i", "i", null],
  ["g", "j", "j", null],
  ["g", "g", null, "g"],
  ["g", "x", null, null],
  [null, "mod+k", "mod+k", null],
])("after %s, %s means %s", (pending, key, meant, left) => {
  expect(advance(pending, key, KNOWN)).toEqual({ meant, pending: left });
});

test("keys are named as shortcuts name them", () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false };
  expect(named({ ...plain, key: "Escape" })).toBe("escape");
  expect(named({ ...plain, key: "?" })).toBe("?");
  expect(named({ ...plain, key: "K", metaKey: true })).toBe("mod+k");
  expect(named({ ...plain, key: "f", altKey: true })).toBeNull();
});
