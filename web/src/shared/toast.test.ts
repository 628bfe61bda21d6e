import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { dismiss, getToasts, holdToasts, toast } from "./toast";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  for (const { id } of getToasts()) dismiss(id);
  vi.useRealTimers();
});

const shown = () => getToasts().map(({ title }) => title);
const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1_000);

test("a note leaves by itself, and one of a failure later", () => {
  toast("done");
  toast("failed", { tone: "failed" });
  pass(6);
  expect(shown()).toEqual(["failed"]);
  pass(6);
  expect(shown()).toEqual([]);
});

test("notes stay while somebody is at them, those too that come meanwhile", () => {
  toast("one");
  pass(4);
  holdToasts(true);
  toast("two");
  pass(60);
  expect(shown()).toEqual(["one", "two"]);
  holdToasts(false);
  pass(4);
  expect(shown()).toEqual(["one", "two"]);
  pass(2);
  expect(shown()).toEqual([]);
});

test("a note that was dismissed holds no other", () => {
  toast("one");
  holdToasts(true);
  dismiss(getToasts()[0]?.id ?? 0);
  toast("two");
  pass(6);
  expect(shown()).toEqual([]);
});
