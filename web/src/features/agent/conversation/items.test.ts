import { describe, expect, it } from "vitest";
import type { Entry } from "../../../wire";
import { cropped, type Item, isSameItem, itemsOf, withNewest, withOlder } from "./items";

const base = (id: string) => ({ id, at: null, subagent: false });
const answer = (id: string, text = id): Entry => ({
  ...base(id),
  what: "answer",
  text,
  text_cut: false,
});
const call = (id: string, key: string): Entry => ({
  ...base(id),
  what: "call",
  call: key,
  tool: "Bash",
  input: {},
  input_cut: false,
});
const result = (id: string, key: string, ok: boolean | null = true): Entry => ({
  ...base(id),
  what: "result",
  call: key,
  text: "",
  text_cut: false,
  ok,
});

function said(item: Item): string {
  if (item.what === "call") return `${item.id}+${item.result?.id ?? "?"}`;
  return item.id;
}

describe("itemsOf", () => {
  it.each<[string, Entry[], string[]]>([
    ["nothing", [], []],
    ["a call that goes on", [call("1", "a")], ["1+?"]],
    ["a call and its result", [call("1", "a"), result("2", "a")], ["1+2"]],
    [
      "two calls at once, the results the other way round",
      [call("1", "a"), call("2", "b"), result("3", "b"), result("4", "a")],
      ["1+4", "2+3"],
    ],
    [
      "a result after something else",
      [call("1", "a"), answer("2"), result("3", "a")],
      ["1+3", "2"],
    ],
    ["a result whose call is on an older page", [result("5", "z"), answer("6")], ["5", "6"]],
  ])("shows %s", (_, entries, expected) => {
    expect(itemsOf(entries).map(said)).toEqual(expected);
  });

  it("puts a result to its call once the older page is there", () => {
    const known = [result("5", "z"), answer("6")];
    const all = withOlder(known, [answer("3"), call("4", "z")]);
    expect(itemsOf(all).map(said)).toEqual(["3", "4+5", "6"]);
  });
});

describe("isSameItem", () => {
  it.each<[string, Entry[], Entry[], boolean]>([
    ["the same answer, loaded again", [answer("1")], [answer("1")], true],
    ["an answer that has grown", [answer("1", "a")], [answer("1", "ab")], false],
    ["a call whose result has come", [call("1", "a")], [call("1", "a"), result("2", "a")], false],
    ["another", [answer("1")], [answer("2", "1")], false],
  ])("tells %s", (_, one, other, expected) => {
    const [a, b] = [itemsOf(one)[0], itemsOf(other)[0]];
    expect(a !== undefined && b !== undefined && isSameItem(a, b)).toBe(expected);
  });
});

describe("withNewest", () => {
  const ids = (entries: ReadonlyArray<Entry> | null) => entries?.map(({ id }) => id) ?? null;
  it.each<[string, string[], string[], string[] | null]>([
    ["begins", [], ["1", "2"], ["1", "2"]],
    ["has nothing twice", ["1", "2"], ["1", "2"], ["1", "2"]],
    ["goes on", ["1", "2", "3"], ["2", "3", "4"], ["1", "2", "3", "4"]],
    ["tells of a gap", ["1", "2"], ["7", "8"], null],
    ["tells that all is gone", ["1"], [], null],
    ["stays empty", [], [], []],
  ])("%s", (_, known, page, expected) => {
    const entries = (list: string[]) => list.map((id) => answer(id));
    expect(ids(withNewest(entries(known), entries(page)))).toEqual(expected);
  });

  it("keeps what is known as it is if nothing is new", () => {
    const known = [answer("1"), answer("2")];
    expect(withNewest(known, [answer("2")])).toBe(known);
  });
});

describe("cropped", () => {
  const entries = ["1", "2", "3", "4", "5", "6"].map((id) => answer(id));
  const marks = ["1", "3", "5"].map((first) => ({ first, next: `before ${first}` }));
  it.each<[string, number, string[], string | null]>([
    ["nothing of what is not too much", 6, ["1", "2", "3", "4", "5", "6"], "before 1"],
    ["to where a page begins", 5, ["3", "4", "5", "6"], "before 3"],
    ["no more than is too much", 4, ["3", "4", "5", "6"], "before 3"],
    ["to the newest page", 3, ["5", "6"], "before 5"],
    ["nothing without a page to begin with", 1, ["1", "2", "3", "4", "5", "6"], "before 1"],
  ])("leaves out %s", (_, max, expected, next) => {
    const kept = cropped(entries, marks, max);
    expect(kept.entries.map(({ id }) => id)).toEqual(expected);
    expect(kept.marks[0]?.next).toBe(next);
  });
});
