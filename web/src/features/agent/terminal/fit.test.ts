import { describe, expect, it } from "vitest";
import { type Box, fontFor, pieces, type Size, sizeFor } from "./fit";

const CELL = { width: 0.6, height: 1.25 };

describe("fontFor", () => {
  it.each<[string, Box, Size, number]>([
    ["no larger than is wanted", { width: 2_000, height: 2_000 }, [80, 24], 13],
    ["so that the columns fit", { width: 732, height: 2_000 }, [100, 24], 12],
    ["so that the rows fit", { width: 2_000, height: 725 }, [80, 48], 12],
    ["no smaller than can be read", { width: 1_180, height: 700 }, [200, 50], 11],
  ])("is %s", (_, box, size, expected) => {
    expect(fontFor(box, size, CELL, 13)).toBe(expected);
  });
});

describe("sizeFor", () => {
  it.each<[string, Box, Size]>([
    ["what fits", { width: 606, height: 510 }, [101, 40]],
    ["no less than the daemon takes", { width: 10, height: 10 }, [20, 5]],
    ["no more than the daemon takes", { width: 9_000, height: 9_000 }, [500, 300]],
  ])("is %s", (_, box, expected) => {
    expect(sizeFor(box, CELL, 10)).toEqual(expected);
  });
});

describe("pieces", () => {
  it.each([
    ["", 4, []],
    ["abc", 4, ["abc"]],
    ["abcdef", 4, ["abcd", "ef"]],
    ["abc😀d", 4, ["abc", "😀d"]],
    ["😀😀", 2, ["😀", "😀"]],
  ])("cuts %j after %i", (text, most, expected) => {
    expect(pieces(text, most)).toEqual(expected);
  });
});
