import { expect, test } from "vitest";
import type { Event, Notice } from "../wire";
import { event } from "./samples";
import { follow, type Heard, type VitalsNotice, type Wire } from "./socket";

test("it begins after what is known, and is live when all has come", () => {
  const table = stage();
  expect(table.opened).toEqual(["/api/ws?since=10&log=log_1&vitals=true"]);
  table.say({ kind: "hello", log: "log_1", head: 12 });
  table.say(numbered(11));
  expect(table.heard).toEqual(["behind", "event 11"]);
  table.say(numbered(12));
  expect(table.heard).toEqual(["behind", "event 11", "event 12", "live"]);
});

test("it is live at once if nothing was missed", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  expect(table.heard).toEqual(["live"]);
});

test("an event that comes twice is heard once", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  for (const id of [11, 11, 10, 12, 11]) table.say(numbered(id));
  expect(table.heard).toEqual(["live", "event 11", "event 12"]);
});

test("after it was lost it goes on where it was, later each time", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.say(numbered(11));
  table.drop(1006);
  expect(table.waits()).toBe(250);
  table.pass();
  expect(table.opened.at(-1)).toBe("/api/ws?since=11&log=log_1&vitals=true");
  table.drop(1006);
  expect(table.waits()).toBe(500);
  for (let n = 0; n < 10; n += 1) {
    table.pass();
    table.drop(1006);
  }
  expect(table.waits()).toBe(10_000);
  table.pass();
  table.say({ kind: "hello", log: "log_1", head: 11 });
  table.drop(1006);
  expect(table.waits()).toBe(250);
});

test("a nudge does not wait, and does nothing while it is connected", () => {
  const table = stage();
  table.socket.nudge();
  expect(table.opened.length).toBe(1);
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.drop(1006);
  table.socket.nudge();
  expect(table.opened.length).toBe(2);
  // It waits for a word now, and for no other try.
  expect(table.waits()).toBe(20_000);
});

test("who is too slow comes back at once, after what has come", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.say(numbered(11));
  table.say({ kind: "lagged", resume: 40 });
  table.drop(1013);
  expect(table.waits()).toBe(0);
  table.pass();
  expect(table.opened.at(-1)).toContain("since=11");
});

test("after a goodbye it comes back when it was told to", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.say({ kind: "goodbye", retry_ms: 1000 });
  table.drop(1000);
  expect(table.heard).toEqual(["live", "lost"]);
  expect(table.waits()).toBe(1000);
});

test("another log ends it, and is told", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_2", head: 3 });
  table.say({ kind: "reset" });
  table.say(numbered(1));
  expect(table.heard).toEqual(["live", "reset"]);
  expect(table.closed()).toBe(true);
  expect(table.waits()).toBeNull();
});

test("a log with a gap ends it, and is told", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 20 });
  table.say({ kind: "archived", through: 15 });
  table.say(numbered(16));
  expect(table.heard).toEqual(["behind", "reset"]);
  expect(table.closed()).toBe(true);
  expect(table.waits()).toBeNull();
});

test.each([
  { silent: 7_000, opened: 1, heard: ["live"] },
  { silent: 7_001, opened: 2, heard: ["live", "lost"] },
  { silent: 8 * 3_600_000, opened: 2, heard: ["live", "lost"] },
])("a nudge after $silent ms of silence", ({ silent, opened, heard }) => {
  const table = stage();
  table.sleep(60_000);
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.sleep(silent);
  table.socket.nudge();
  expect(table.opened.length).toBe(opened);
  expect(table.heard).toEqual(heard);
  // It waits for a word now, and for no other try.
  expect(table.waits()).toBe(20_000);
});

test("what a dropped connection still says is not heard", () => {
  const table = stage();
  const before = table.wire();
  table.sleep(10_000);
  table.socket.nudge();
  expect(before?.isClosed).toBe(true);
  before?.onmessage?.({ data: JSON.stringify(numbered(11)) });
  before?.onclose?.({ code: 1006 });
  expect(table.heard).toEqual(["lost"]);
  table.say({ kind: "hello", log: "log_1", head: 10 });
  expect(table.heard).toEqual(["lost", "live"]);
});

test("who is not let in any more does not come back", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.drop(1008);
  expect(table.heard).toEqual(["live", "barred"]);
  expect(table.waits()).toBeNull();
});

test("a connection that never began is asked about", () => {
  const table = stage();
  table.drop(1006);
  expect(table.heard).toEqual(["lost", "refused"]);
});

test("a connection that falls silent is taken for dead", () => {
  const table = stage();
  table.say({ kind: "hello", log: "log_1", head: 10 });
  table.say({ kind: "vitals" } as VitalsNotice);
  expect(table.waits()).toBe(20_000);
  table.pass();
  expect(table.heard).toEqual(["live", "vitals", "lost"]);
  expect(table.closed()).toBe(true);
  table.drop(1006);
  expect(table.heard.length).toBe(3);
});

test("a connection that says nothing at all is taken for dead", () => {
  const table = stage();
  expect(table.waits()).toBe(20_000);
  table.pass();
  expect(table.heard).toEqual(["lost"]);
  expect(table.closed()).toBe(true);
  table.pass();
  expect(table.opened).toHaveLength(2);
});

function numbered(id: number): Event {
  return event("agent.phase", {}, { id });
}

/** A socket on which the test says everything that the world would. */
function stage() {
  const heard: string[] = [];
  const opened: string[] = [];
  let wire: (Wire & { isClosed: boolean }) | null = null;
  let time = 1_000;
  let timer: { ms: number; then: () => void } | null = null;
  const listener: Heard = {
    event: ({ id }) => heard.push(`event ${id}`),
    vitals: () => heard.push("vitals"),
    reset: () => heard.push("reset"),
    live: (state) => heard.push(state),
    barred: () => heard.push("barred"),
    refused: () => heard.push("refused"),
  };
  const world = {
    open(path: string): Wire {
      opened.push(path);
      const made = {
        onmessage: null,
        onclose: null,
        isClosed: false,
        close() {
          made.isClosed = true;
        },
      };
      wire = made;
      return made;
    },
    later(ms: number, then: () => void) {
      const mine = { ms, then };
      timer = mine;
      return () => {
        if (timer === mine) timer = null;
      };
    },
    random: () => 1,
    now: () => time,
  };
  const socket = follow({ since: 10, log: "log_1" }, listener, world);
  return {
    socket,
    heard,
    opened,
    say: (said: Event | Notice) => wire?.onmessage?.({ data: JSON.stringify(said) }),
    drop: (code: number) => wire?.onclose?.({ code }),
    wire: () => wire,
    /** Has time pass without anything being done. */
    sleep(ms: number) {
      time += ms;
    },
    waits: () => timer?.ms ?? null,
    closed: () => wire?.isClosed ?? false,
    pass() {
      const due = timer;
      timer = null;
      due?.then();
    },
  };
}
