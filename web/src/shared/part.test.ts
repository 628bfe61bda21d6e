import { expect, test } from "vitest";
import { loadFailed, loadParts, Part } from "./part";

const Shown = () => null;

test("a part is loaded once, and is there from then on", async () => {
  let times = 0;
  const part = new Part(async () => {
    times += 1;
    return Shown;
  });
  const told: string[] = [];
  part.subscribe(() => told.push(part.get().is));
  await Promise.all([part.load(), part.load()]);
  await part.load();
  expect(part.get()).toEqual({ is: "here", Shown });
  expect(told).toEqual(["coming", "here"]);
  expect(times).toBe(1);
});

test("one that could not be loaded is loaded when it is asked for again", async () => {
  let isAway = true;
  const part = new Part(async () => {
    if (isAway) throw new TypeError("Failed to fetch dynamically imported module");
    return Shown;
  });
  await part.load();
  expect(part.get()).toEqual({ is: "failed" });
  await part.load();
  expect(part.get()).toEqual({ is: "failed" });
  isAway = false;
  await part.load();
  expect(part.get()).toEqual({ is: "here", Shown });
});

test("all are loaded beforehand, and those that failed again when the daemon is back", async () => {
  let isAway = true;
  const asked: string[] = [];
  const named = (name: string, isFailing: () => boolean) =>
    new Part(async () => {
      asked.push(name);
      if (isFailing()) throw new Error("no");
      return Shown;
    });
  const [fine, fails] = [named("fine", () => false), named("fails", () => isAway)];
  await loadParts();
  expect([fine.get().is, fails.get().is]).toEqual(["here", "failed"]);
  asked.length = 0;
  isAway = false;
  loadFailed();
  await fails.load();
  await loadParts();
  expect(asked).toEqual(["fails"]);
  expect(fails.get().is).toBe("here");
});
