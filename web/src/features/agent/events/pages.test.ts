import { describe, expect, it } from "vitest";
import { event } from "../../../feed/samples";
import type { Event } from "../../../wire";
import {
  cropped,
  isFull,
  KEPT_MAX,
  KEPT_READ_MAX,
  NOTHING,
  type Shown,
  withNews,
  withPage,
} from "./pages";

const events = (...ids: number[]): Event[] => ids.map((id) => event("agent.phase", {}, { id }));
const shown = (ids: number[], before: number | null = null): Shown => ({
  events: events(...ids),
  before,
});
const page = (ids: number[], scanned_from: number | null) => ({
  log: "log_1",
  head: 99,
  events: events(...ids),
  scanned_from,
  scanned_through: null,
});
const said = ({ events: all, before }: Shown) => ({ ids: all.map(({ id }) => id), before });

describe("withPage", () => {
  it.each([
    ["the first, with more before", NOTHING, page([5, 6], 5), { ids: [6, 5], before: 5 }],
    ["the last", shown([6, 5], 5), page([1, 2], null), { ids: [6, 5, 2, 1], before: null }],
    ["nothing, as far as was looked", shown([6], 6), page([], 3), { ids: [6], before: 3 }],
    [
      "what is shown already",
      shown([6, 5], 5),
      page([4, 5, 6], null),
      { ids: [6, 5, 4], before: null },
    ],
  ])("adds %s", (_, before, next, expected) => {
    expect(said(withPage(before, next))).toEqual(expected);
  });
});

describe("withNews", () => {
  it.each([
    ["what is new, newest first", shown([3]), [4, 5], [5, 4, 3]],
    ["nothing twice", shown([4, 3]), [3, 4, 5], [5, 4, 3]],
    ["to nothing", NOTHING, [1, 2], [2, 1]],
  ])("adds %s", (_, before, ids, expected) => {
    expect(said(withNews(before, events(...ids))).ids).toEqual(expected);
  });

  it("is the same if nothing is new", () => {
    const before = shown([4]);
    expect(withNews(before, events(4))).toBe(before);
  });
});

describe("while somebody reads older ones", () => {
  const many = Array.from({ length: KEPT_READ_MAX }, (_, at) => KEPT_READ_MAX - at);

  it("keeps no more than it may, and knows what to ask for again", () => {
    const after = withNews(shown(many, null), events(KEPT_READ_MAX + 1, KEPT_READ_MAX + 2));
    expect(after.events.length).toBe(KEPT_READ_MAX);
    expect([after.events[0]?.id, after.before]).toEqual([KEPT_READ_MAX + 2, 3]);
  });

  it("asks for no more once it has all that it may", () => {
    expect(isFull(shown(many, 1))).toBe(true);
    expect(isFull(shown(many.slice(1), 1))).toBe(false);
  });
});

describe("cropped", () => {
  it("asks again for what it leaves out", () => {
    const many = Array.from({ length: KEPT_MAX + 5 }, (_, at) => KEPT_MAX + 5 - at);
    const { events: left, before } = cropped(shown(many, null));
    expect(left.length).toBe(KEPT_MAX);
    expect(before).toBe(6);
  });
});
