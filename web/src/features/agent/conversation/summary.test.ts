import { describe, expect, it } from "vitest";
import { fullOf, summaryOf } from "./summary";

describe("summaryOf", () => {
  it.each([
    [{ command: "npm test", description: "Runs the tests" }, "npm test"],
    [{ command: ["bash", "-lc", "ls"] }, "bash -lc ls"],
    [{ file_path: "/a/b.rs", old_string: "x" }, "/a/b.rs"],
    [{ pattern: "a\n  b", path: "" }, "a b"],
    [{ todos: [1, 2] }, "todos: [1,2]"],
    [{}, ""],
    [null, ""],
    ["plain text", "plain text"],
    [["a", { b: 1 }], 'a {"b":1}'],
    [{ prompt: "x".repeat(300) }, `${"x".repeat(199)}…`],
  ])("of %j", (input, expected) => {
    expect(summaryOf(input)).toBe(expected);
  });
});

describe("fullOf", () => {
  it.each([
    ["text", "text"],
    [{ command: "ls\npwd" }, "ls\npwd"],
    [{ path: "a", old: "x\ny", all: true }, "path: a\nold:\nx\ny\nall: true"],
    [[1], "[\n  1\n]"],
    [undefined, ""],
  ])("of %j", (input, expected) => {
    expect(fullOf(input)).toBe(expected);
  });
});
