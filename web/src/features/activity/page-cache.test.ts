import { expect, test } from "vitest";
import { event } from "../../feed/samples";
import { idsOf, PAGE_SIZE, PageCache, pageOf, pagesOf } from "./page-cache";

const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => event("agent.phase", {}, { id: from + at }));

test("each id is on one page", () => {
  expect([1, PAGE_SIZE, PAGE_SIZE + 1].map(pageOf)).toEqual([0, 0, 1]);
  expect(idsOf(1)).toEqual({ since: PAGE_SIZE, through: 2 * PAGE_SIZE });
  expect(pagesOf(1, 3 * PAGE_SIZE + 1)).toEqual([0, 1, 2, 3]);
});

test("what was asked for and is not there is missing, and what was not asked for is unknown", () => {
  const cache = new PageCache();
  expect(cache.find(1)).toBe("unknown");
  cache.fill(0, events(3, 10), 12);
  expect(cache.find(1)).toBe("missing");
  expect(cache.find(3)).toMatchObject({ id: 3 });
  expect(cache.find(12)).toBe("missing");
  expect(cache.find(13)).toBe("unknown");
  expect([cache.has(0, 12), cache.has(0, 13)]).toEqual([true, false]);
});

test("new events go on where the last page ends, and begin a new one", () => {
  const cache = new PageCache();
  cache.fill(0, events(1, 199), 199);
  cache.append(events(200, 203));
  expect([199, 200, 203].map((id) => typeof cache.find(id))).toEqual([
    "object",
    "object",
    "object",
  ]);
  expect(cache.has(1, 203)).toBe(true);
  // After a gap, the page is to be asked for again.
  cache.append(events(205, 205));
  expect(cache.find(205)).toBe("unknown");
  expect(cache.has(1, 205)).toBe(false);
  cache.fill(1, events(201, 205), 205);
  expect(cache.find(204)).toMatchObject({ id: 204 });
});

test("of many pages those are kept that were looked at last", () => {
  const cache = new PageCache(3);
  for (const page of [0, 1, 2]) cache.fill(page, [], 10_000);
  cache.touch(0);
  cache.fill(3, [], 10_000);
  expect([0, 1, 2, 3].map((page) => cache.has(page, 10_000))).toEqual([true, false, true, true]);
  for (let at = 0; at < 100_000; at += 1) cache.append(events(at + 1, at + 1));
  expect(cache.size).toBe(3);
});
