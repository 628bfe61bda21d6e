import { expect, test } from "vitest";
import { ProblemError } from "../api/request";
import { refetching } from "./refetch";

test("the same thing is asked for once, and again only after a while", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  for (let n = 0; n < 5; n += 1) refetch.want("a");
  await clock.run(0);
  expect(clock.asked).toEqual(["a"]);
  refetch.want("a");
  await clock.run(0);
  expect(clock.asked).toEqual(["a"]);
  await clock.run(300);
  expect(clock.asked).toEqual(["a", "a"]);
});

test("only a few are asked for at once, and none is forgotten", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  for (const key of ["a", "b", "c", "d", "e", "f"]) refetch.want(key);
  clock.hold();
  await clock.run(0);
  expect(clock.asked.length).toBe(4);
  clock.release();
  await clock.run(0);
  await clock.run(0);
  expect([...clock.asked].sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("what is asked for slowly is asked for again only once it was answered", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  clock.hold();
  refetch.want("a");
  await clock.run(0);
  refetch.want("a");
  await clock.run(1_000);
  expect(clock.asked).toEqual(["a"]);
  clock.release();
  await clock.run(0);
  expect(clock.asked).toEqual(["a", "a"]);
});

test("nothing is asked for while something else is done with it", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  clock.hold();
  refetch.want("a");
  await clock.run(0);
  let finish = (_: string) => {};
  const done = refetch.pause("a", () => {
    clock.asked.push("work");
    return new Promise<string>((resolve) => {
      finish = resolve;
    });
  });
  await clock.run(0);
  expect(clock.asked).toEqual(["a"]);
  clock.release();
  refetch.want("a");
  refetch.want("b");
  await clock.run(300);
  expect([...clock.asked].sort()).toEqual(["a", "b", "work"]);
  finish("done");
  expect(await done).toBe("done");
  await clock.run(300);
  expect([...clock.asked].sort()).toEqual(["a", "a", "b", "work"]);
  const failed = refetch.pause("b", () => Promise.reject(new Error("refused")));
  await expect(failed).rejects.toThrow("refused");
  refetch.want("b");
  await clock.run(300);
  expect(clock.asked.at(-1)).toBe("b");
});

test.each([
  ["the daemon does not answer", problem(0), true],
  ["its answer ends in the middle", new TypeError("network error"), true],
  ["it fails", problem(503), true],
  ["it was asked too often", problem(429), true],
  ["it refuses", problem(403), false],
  ["there is no such thing", problem(404), false],
])(
  "what could not be asked for is asked for again, unless that was refused: %s",
  async (_, error, isAgain) => {
    const clock = byHand();
    const refetch = refetching(clock.ask, clock.world);
    clock.fail(error);
    clock.leave();
    refetch.want("a");
    await clock.run(0);
    await clock.run(60_000);
    expect(clock.asked).toEqual(["a"]);
    clock.comeBack();
    refetch.again();
    await clock.run(0);
    expect(clock.asked).toEqual(isAgain ? ["a", "a"] : ["a"]);
    refetch.again();
    await clock.run(60_000);
    expect(clock.asked.length).toBe(isAgain ? 2 : 1);
  },
);

test("what fails while the daemon is there is asked for again, later each time", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  clock.fail(problem(503));
  refetch.want("a");
  await clock.run(0);
  for (const [ms, times] of [
    [999, 1],
    [1, 2],
    [1_999, 2],
    [1, 3],
    [4_000, 4],
  ] as const) {
    await clock.run(ms);
    expect(clock.asked.length).toBe(times);
  }
  clock.comeBack();
  await clock.run(8_000);
  expect(clock.asked.length).toBe(5);
  await clock.run(60_000);
  expect(clock.asked.length).toBe(5);
});

test("what was forgotten is not asked for again", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.world);
  clock.fail(problem(0));
  refetch.want("a");
  await clock.run(0);
  refetch.clear();
  clock.comeBack();
  refetch.again();
  await clock.run(60_000);
  expect(clock.asked).toEqual(["a"]);
});

function problem(status: number): ProblemError {
  return new ProblemError({ type: "about:blank", title: "No", status, detail: "no" });
}

/** A clock that the test turns, and a daemon that answers as the test wants it. */
function byHand() {
  let time = 1_000;
  let isThere = true;
  let failing: unknown = null;
  let due: { at: number; then: () => void }[] = [];
  let held: (() => void)[] | null = null;
  const asked: string[] = [];
  return {
    asked,
    world: {
      now: () => time,
      later: (ms: number, then: () => void) => void due.push({ at: time + ms, then }),
      isThere: () => isThere,
    },
    ask(key: string): Promise<void> {
      asked.push(key);
      if (failing !== null) return Promise.reject(failing);
      if (held === null) return Promise.resolve();
      return new Promise((resolve) => held?.push(resolve));
    },
    /** Has it fail from now on. */
    fail(error: unknown) {
      failing = error;
    },
    leave() {
      isThere = false;
    },
    /** Has it be there, and answer. */
    comeBack() {
      failing = null;
      isThere = true;
    },
    hold() {
      held = [];
    },
    release() {
      for (const resolve of held ?? []) resolve();
      held = null;
    },
    async run(ms: number) {
      time += ms;
      for (let n = 0; n < 10; n += 1) {
        const ready = due.filter(({ at }) => at <= time);
        due = due.filter(({ at }) => at > time);
        for (const { then } of ready) then();
        for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      }
    },
  };
}
