import { expect, test } from "vitest";
import type { Events } from "../../wire";
import { pageLoader } from "./page-loader";

const ANSWER: Events = {
  log: "log_1",
  events: [],
  head: 1,
  scanned_from: null,
  scanned_through: null,
};

type Answering = { resolve: (answer: Events) => void; reject: (why: string) => void };

/** Returns a loader whose answers are given by hand. */
function byHand() {
  const asked: number[] = [];
  const seen: string[] = [];
  const waiting = new Map<number, Answering>();
  const loader = pageLoader({
    ask: (page) => {
      asked.push(page);
      return new Promise((resolve, reject) => waiting.set(page, { resolve, reject }));
    },
    onPage: (page) => seen.push(`page ${page}`),
    onError: (error) => seen.push(String(error)),
    onNone: () => seen.push("none"),
  });
  const settled = () => new Promise((then) => setTimeout(then));
  return {
    asked,
    seen,
    want: loader.want,
    answer: (page: number) => {
      waiting.get(page)?.resolve(ANSWER);
      return settled();
    },
    fail: (page: number) => {
      waiting.get(page)?.reject("refused");
      return settled();
    },
  };
}

test("two are asked for at once, and none that was scrolled past", async () => {
  const hand = byHand();
  hand.want([1, 2, 3]);
  expect(hand.asked).toEqual([1, 2]);
  hand.want([7, 8]);
  await hand.answer(1);
  expect(hand.asked).toEqual([1, 2, 7]);
  await hand.answer(2);
  expect(hand.asked).toEqual([1, 2, 7, 8]);
  expect(hand.seen).toEqual(["page 1", "page 2"]);
});

test("the same is asked for once, and again after it failed", async () => {
  const hand = byHand();
  hand.want([1]);
  hand.want([1]);
  expect(hand.asked).toEqual([1]);
  await hand.fail(1);
  expect(hand.asked).toEqual([1]);
  hand.want([1]);
  expect(hand.asked).toEqual([1, 1]);
  expect(hand.seen).toEqual(["refused"]);
});

test("what could not be read is missed for as long as it is wanted", async () => {
  const hand = byHand();
  hand.want([1]);
  await hand.fail(1);
  hand.want([]);
  expect(hand.seen).toEqual(["refused", "none"]);
  hand.want([1]);
  await hand.fail(1);
  expect(hand.seen).toEqual(["refused", "none", "refused"]);
});

test("what was scrolled past is missed by nobody, and holds up nothing", async () => {
  const hand = byHand();
  hand.want([1, 2]);
  hand.want([]);
  await hand.fail(1);
  expect(hand.seen).toEqual(["none"]);
  hand.want([2, 3, 4]);
  expect(hand.asked).toEqual([1, 2, 3]);
  hand.want([4]);
  await hand.fail(2);
  expect(hand.asked).toEqual([1, 2, 3, 4]);
  expect(hand.seen).toEqual(["none"]);
});
