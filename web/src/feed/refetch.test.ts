import { expect, test } from "vitest";
import { refetching } from "./refetch";

test("the same thing is asked for once, and again only after a while", async () => {
  const clock = byHand();
  const refetch = refetching(clock.ask, clock.now, clock.later);
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
  const refetch = refetching(clock.ask, clock.now, clock.later);
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
  const refetch = refetching(clock.ask, clock.now, clock.later);
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
  const refetch = refetching(clock.ask, clock.now, clock.later);
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

/** A clock that the test turns. */
function byHand() {
  let time = 1_000;
  let due: { at: number; then: () => void }[] = [];
  let held: (() => void)[] | null = null;
  const asked: string[] = [];
  return {
    asked,
    now: () => time,
    later: (ms: number, then: () => void) => void due.push({ at: time + ms, then }),
    ask(key: string): Promise<void> {
      asked.push(key);
      if (held === null) return Promise.resolve();
      return new Promise((resolve) => held?.push(resolve));
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
        await Promise.resolve();
        await Promise.resolve();
      }
    },
  };
}
