import { afterEach, expect, test, vi } from "vitest";
import { event, status } from "./samples";
import { begun } from "./state";
import { type News, onFleet, onNews, setFleet, tell } from "./store";

afterEach(() => vi.unstubAllGlobals());

test("a listener that fails is told of, and holds up no other", () => {
  const reported: unknown[] = [];
  vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
  const heard: unknown[] = [];
  const fail = () => {
    throw new Error("no");
  };
  const ends = [
    onFleet(fail),
    onFleet(() => heard.push("fleet")),
    onNews(fail),
    onNews((news) => heard.push(news)),
  ];
  const news: News = { what: "events", events: [event("agent.phase")] };
  setFleet(begun(status(), []));
  tell(news);
  expect(heard).toEqual(["fleet", news]);
  expect(reported).toEqual([new Error("no"), new Error("no")]);
  for (const end of ends) end();
});
