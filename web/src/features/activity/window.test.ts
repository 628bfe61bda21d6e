import { expect, test } from "vitest";
import { heightOf, inSight, type Layout, rowAt, SPAN_MAX, scrollTo, spanOf, topOf } from "./window";

const plain: Layout = { count: 100_000, rowPx: 30, opened: null };
const open: Layout = { ...plain, opened: { index: 10, extraPx: 200 } };

test("rows are as high as they are, and one that is open is higher", () => {
  expect(heightOf(plain)).toBe(3_000_000);
  expect(heightOf(open)).toBe(3_000_200);
  expect([10, 11].map((row) => topOf(open, row))).toEqual([300, 530]);
});

test.each<[number, number, number]>([
  [0, 0, 0],
  [29, 0, 0],
  [30, 1, 1],
  [329, 10, 10],
  [330, 11, 10],
  [529, 17, 10],
  [530, 17, 11],
  [99_999_999, 99_999, 99_999],
])("at %d px is row %d, or %d if one above is open", (px, expected, expectedOpen) => {
  expect(rowAt(plain, px)).toBe(expected);
  expect(rowAt(open, px)).toBe(expectedOpen);
});

test("only what is in sight is drawn, wherever that is", () => {
  expect(inSight(plain, 0, 600, 5)).toEqual({ from: 0, to: 26 });
  expect(inSight(plain, 1_500_000, 600, 5)).toEqual({ from: 49_995, to: 50_026 });
  expect(inSight(plain, 2_999_400, 600, 5)).toEqual({ from: 99_975, to: 100_000 });
  expect(inSight({ ...plain, count: 0 }, 0, 600, 5)).toEqual({ from: 0, to: 0 });
});

test("a row is scrolled to by the shortest way", () => {
  expect(scrollTo(plain, 5, 0, 600)).toBe(null);
  expect(scrollTo(plain, 5, 300, 600)).toBe(150);
  expect(scrollTo(plain, 40, 0, 600)).toBe(630);
  expect(scrollTo(open, 10, 0, 400)).toBe(130);
});

test.each<[number, number, number | undefined, [number, number]]>([
  [1, 10, undefined, [1, 10]],
  [1, 10, 5, [1, 10]],
  [5, 2_000_000, undefined, [2_000_000 - SPAN_MAX + 1, 2_000_000]],
  [5, 2_000_000, 7, [5, SPAN_MAX + 4]],
  [5, 2_000_000, 1_000_000, [1_000_000 - SPAN_MAX / 2, 1_000_000 + SPAN_MAX / 2 - 1]],
  [5, 2_000_000, 9_000_000, [2_000_000 - SPAN_MAX + 1, 2_000_000]],
])("of a log from %d to %d around %s it is %j", (first, head, at, [from, to]) => {
  expect(spanOf(first, head, at)).toEqual({ first: from, last: to });
});
