import { expect, test } from "vitest";
import { advance, holderOf, type Layer, named } from "./keys";

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

test.each<[string, string, Array<[string, Layer]>, string | undefined]>([
  ["the one that wants them", "j", [["j", "page"]], "1"],
  ["nobody, if nobody wants them", "j", [["k", "page"]], undefined],
  ["every page, if the page does not want them", "escape", [["escape", "everywhere"]], "1"],
  [
    "the page that was there when every page's keys were added",
    "escape",
    [
      ["escape", "page"],
      ["escape", "everywhere"],
    ],
    "1",
  ],
  [
    "the page that was opened after they were",
    "escape",
    [
      ["escape", "everywhere"],
      ["escape", "page"],
    ],
    "2",
  ],
  [
    "the newest of a page",
    "escape",
    [
      ["escape", "page"],
      ["escape", "page"],
      ["escape", "everywhere"],
      ["j", "page"],
    ],
    "2",
  ],
])("keys go to %s", (_, keys, wanted, label) => {
  const shortcuts = wanted.map(([keys, layer], at) => {
    return { keys, layer, label: String(at + 1), group: "", run: () => {} };
  });
  expect(holderOf(keys, shortcuts)?.label).toBe(label);
});

test("keys are named as shortcuts name them", () => {
  const plain = { ctrlKey: false, metaKey: false, altKey: false };
  expect(named({ ...plain, key: "Escape" })).toBe("escape");
  expect(named({ ...plain, key: "?" })).toBe("?");
  expect(named({ ...plain, key: "K", metaKey: true })).toBe("mod+k");
  expect(named({ ...plain, key: "f", altKey: true })).toBeNull();
});
