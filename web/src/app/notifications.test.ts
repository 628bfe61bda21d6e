import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Event } from "../wire";

type Shown = { title: string; body: string };

/** What the browser has shown. */
let shown: Shown[] = [];

beforeEach(() => {
  shown = [];
  vi.resetModules();
  vi.stubGlobal("document", { title: "", hasFocus: () => false });
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => {} }));
  vi.stubGlobal("localStorage", { getItem: () => "on" });
});

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["asks for a permission", "asking", "permission", "Wants a permission: answer in its terminal"],
  ["has a question", "asking", "question", "Has a question: answer in its terminal"],
  ["asks for what is not known", "asking", null, "A question is on its screen"],
  ["has failed", "failed", "exit 1, five times", "Exit 1, five times"],
  [
    "has failed for no reason",
    "failed",
    null,
    "Ended too often, and is left alone until you resume it",
  ],
])("who %s is told of as on the page", async (_, to, reason, body) => {
  browser((title, body) => shown.push({ title, body }));
  await happens("agent.phase", { to, reason });
  const title = to === "asking" ? "api needs you" : "api has failed";
  expect(shown).toEqual([{ title, body }]);
});

test("a question says whose it is, and where", async () => {
  browser((title, body) => shown.push({ title, body }));
  await happens("message.delivered", {
    message: "msg_1",
    to: "user",
    from: "api",
    kind: "question",
  });
  expect(shown).toEqual([{ title: "api asks you something", body: "It is in your inbox." }]);
});

test("a browser that makes none for a page is one that cannot, and all else goes on", async () => {
  browser(() => {
    throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification().");
  });
  const reported: unknown[] = [];
  vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
  const { getNotify } = await import("../shared/notify");
  expect(getNotify()).toBe("on");
  await happens("agent.phase", { to: "asking" });
  expect(getNotify()).toBe("unsupported");
  expect(document.title).toBe("(1) cmux");
  expect(reported).toEqual([]);
});

/** Gives the page a browser that was allowed to notify, and does it so. */
function browser(show: (title: string, body: string) => void): void {
  class Made {
    static readonly permission = "granted";

    constructor(title: string, { body }: { body: string }) {
      show(title, body);
    }
  }
  vi.stubGlobal("Notification", Made);
}

/** Has something happen to the one agent that there is, while the needs are followed. */
async function happens(kind: string, data: Event["data"]): Promise<void> {
  const { event, status } = await import("../feed/samples");
  const { begun } = await import("../feed/state");
  const { reduce } = await import("../feed/reduce");
  const { setFleet } = await import("../feed/store");
  const { followNeeds } = await import("./notifications");
  followNeeds();
  const state = begun(status(), []);
  setFleet(state);
  setFleet(reduce(state, event(kind, data)).state);
}
