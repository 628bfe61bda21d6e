import { describe, expect, it } from "vitest";
import type { Entry } from "../../../wire";
import {
  cropped,
  type Item,
  isSameItem,
  itemsOf,
  type Mark,
  withMark,
  withNewest,
  withOlder,
} from "./items";

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
    ["another call under the same name", [call("a.1", "x")], [call("a.1", "y")], false],
    ["something else under the same name", [call("a.1", "x")], [answer("a.1")], false],
    ["the same call, loaded again", [call("a.1", "x")], [call("a.1", "x")], true],
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

/** Entries as words: `a.1` is an answer, `a.1=x` the call `x`. */
const written = (words: string) =>
  words
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => {
      const [id = "", key] = word.split("=");
      return key === undefined ? answer(id) : call(id, key);
    });

const read = (entries: ReadonlyArray<Entry> | null) =>
  entries
    ?.map((entry) => (entry.what === "call" ? `${entry.id}=${entry.call}` : entry.id))
    .join(" ") ?? null;

describe("a message that is written again as it grows", () => {
  it.each<[string, string, string, string | null]>([
    ["has new parts", "a.0 a.1", "a.0 a.1 a.2", "a.0 a.1 a.2"],
    ["has other parts under the same names", "z.0 a.0 a.1=x", "a.0 a.1 a.2=x", "z.0 a.0 a.1 a.2=x"],
    ["has fewer parts", "z.0 a.0 a.1 b.0", "z.0 a.0 b.0", "z.0 a.0 b.0"],
    ["is after what was said meanwhile", "z.0 a.0 b.0", "b.0 a.0 a.1", "z.0 b.0 a.0 a.1"],
    ["was taken back, with what is not on the page", "z.0 a.0 b.0", "a.0", null],
    ["was taken back, and all is on the page", "a.0 b.0", "a.0", null],
    ["begins before the page, and is as it was", "a.0 a.1 b.0", "a.1 b.0 c.0", "a.0 a.1 b.0 c.0"],
    ["begins before the page, and has grown", "a.0 a.1=x", "a.1 a.2=x", null],
    ["begins before what is known", "a.1=x", "z.0 a.0 a.1 a.2=x", "z.0 a.0 a.1 a.2=x"],
  ])("%s", (_, known, page, expected) => {
    expect(read(withNewest(written(known), written(page)))).toBe(expected);
  });

  it("keeps those entries as they are that have not changed", () => {
    const known = written("z.0 a.0 a.1=x");
    const next = withNewest(known, written("a.0 a.1 a.2=x"));
    expect(next?.map((entry) => known.includes(entry))).toEqual([true, true, false, false]);
  });

  it("shows what was said in place of what stood there", () => {
    const known = [...written("a.0 a.1=x")];
    const page = [...written("a.0 a.1 a.2=x"), result("a.3", "x")];
    expect(itemsOf(withNewest(known, page) ?? []).map(said)).toEqual(["a.0", "a.1", "a.2+a.3"]);
  });

  it.each<[string, string, string, string]>([
    ["an older version of what is known", "a.0 a.1 b.0", "z.0 a.0 a.1", "z.0 a.0 a.1 b.0"],
    ["one with more parts", "a.0 b.0", "z.0 a.0 a.1", "z.0 a.0 b.0"],
    ["the beginning of a message", "a.2 b.0", "z.0 a.0 a.1", "z.0 a.0 a.1 a.2 b.0"],
  ])("is there once when an older page has %s", (_, known, page, expected) => {
    expect(read(withOlder(written(known), written(page)))).toBe(expected);
  });
});

describe("withMark", () => {
  it.each<[string, string, string, string[], string | null, string[]]>([
    ["begins", "a.0 b.0", "a.0 b.0", [], "1", ["a.0 1"]],
    ["adds where a page begins", "a.0 b.0 c.0", "c.0", ["a.0 1"], "3", ["a.0 1", "c.0 3"]],
    ["has the same place once", "a.0 b.0", "a.0 b.0", ["a.0 1"], "1", ["a.0 1"]],
    [
      "keeps a page with nothing new in it",
      "a.0 b.0",
      "a.0 b.0",
      ["a.0 0", "a.0 1"],
      "1",
      ["a.0 0", "a.0 1"],
    ],
    ["asks anew before what was written again", "b.0 a.0", "b.0 a.0", ["a.0 1"], "2", ["b.0 2"]],
    ["forgets what is gone", "c.0", "c.0", ["a.0 1"], null, ["c.0 null"]],
  ])("%s", (_, known, page, marks, next, expected) => {
    const before = marks.map((mark): Mark => {
      const [first = "", place = ""] = mark.split(" ");
      return { first, next: place };
    });
    const after = withMark(before, written(known), written(page), next);
    expect(after.map((mark) => `${mark.first} ${mark.next}`)).toEqual(expected);
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
