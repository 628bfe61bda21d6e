import { describe, expect, it } from "vitest";
import { isChord, isTyping } from "./chord";

const NONE = {
  key: "",
  code: "",
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
};

describe("isChord", () => {
  it.each([
    ["Ctrl ]", { key: "]", code: "BracketRight", ctrlKey: true }, true],
    ["⌘ ]", { key: "]", code: "BracketRight", metaKey: true }, true],
    ["Ctrl and the key in its place", { key: "+", code: "BracketRight", ctrlKey: true }, true],
    ["Ctrl ] where it is written with Shift", { key: "]", shiftKey: true, ctrlKey: true }, true],
    ["]", { key: "]", code: "BracketRight" }, false],
    ["] by AltGr, as some systems tell it", { key: "]", ctrlKey: true, altKey: true }, false],
    [
      "Ctrl Shift and that key",
      { key: "}", code: "BracketRight", ctrlKey: true, shiftKey: true },
      false,
    ],
    ["Escape", { key: "Escape", code: "Escape" }, false],
    ["Ctrl Escape", { key: "Escape", code: "Escape", ctrlKey: true }, false],
  ])("%s", (_, pressed, expected) => {
    expect(isChord({ ...NONE, ...pressed })).toBe(expected);
  });
});

describe("isTyping", () => {
  it.each([
    ["2", {}, true],
    ["é", {}, true],
    [" ", {}, true],
    ["Enter", {}, true],
    ["Escape", {}, true],
    ["Tab", {}, false],
    ["PageUp", {}, false],
    ["F5", {}, false],
    ["k", { ctrlKey: true }, false],
    ["k", { metaKey: true }, false],
  ])("%s with %j is %s", (key, held, expected) => {
    expect(isTyping({ ...NONE, key, ...held })).toBe(expected);
  });
});
