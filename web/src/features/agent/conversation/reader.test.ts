import { describe, expect, it } from "vitest";
import type { Conversation, Entry } from "../../../wire";
import { KEPT_MAX, KEPT_READ_MAX } from "./items";
import { Reader } from "./reader";

const entry = (id: number): Entry => ({
  id: String(id),
  at: null,
  subagent: false,
  what: "note",
  text: "",
});

/** A conversation of `length` entries in pages of `size`, as the daemon tells it. */
function told(length: number, size: number) {
  return (before: string | null): Conversation => {
    const end = before === null ? length : Number(before);
    const from = Math.max(0, end - size);
    const entries = Array.from({ length: end - from }, (_, at) => entry(from + at));
    return { entries, next: from > 0 ? String(from) : null, missing: null };
  };
}

const settled = () => new Promise<void>((done) => setTimeout(done, 0));

function reading(length: number, size: number) {
  let page = told(length, size);
  let asked = 0;
  const timers: Array<() => void> = [];
  const reader = new Reader(
    async (before) => {
      asked += 1;
      return page(before);
    },
    (_, then) => timers.push(then),
  );
  return {
    reader,
    asked: () => asked,
    grow: (to: number) => {
      page = told(to, size);
    },
    pass: () => {
      for (const then of timers.splice(0)) then();
    },
    ids: () => reader.get().entries.map(({ id }) => Number(id)),
  };
}

const upTo = (end: number, from = 0) => Array.from({ length: end - from }, (_, at) => from + at);

describe("Reader", () => {
  it("reads the newest, and then what was before", async () => {
    const { reader, ids } = reading(25, 10);
    reader.want();
    await settled();
    expect(ids()).toEqual(upTo(25, 15));
    await reader.older();
    await reader.older();
    expect(ids()).toEqual(upTo(25));
    expect(reader.get().hasOlder).toBe(false);
  });

  it.each([
    ["a few were added", 28, upTo(28, 15)],
    ["more than a page was added", 47, upTo(47, 15)],
    ["too much was added", 200, upTo(200, 150)],
    ["it has become another one", 5, upTo(5)],
  ])("goes on when %s", async (_, length, expected) => {
    const { reader, ids, grow, pass } = reading(25, 10);
    reader.want();
    await settled();
    grow(length);
    pass();
    reader.want();
    await settled();
    expect(ids()).toEqual(expected);
  });

  it.each([
    ["the end is followed", true, KEPT_MAX],
    ["somebody reads further up", false, KEPT_READ_MAX],
  ])(
    "keeps no more than it may while %s, and what was before can be had again",
    async (_, isFollowed, max) => {
      const { reader, ids, grow, pass } = reading(60, 60);
      reader.follow(isFollowed);
      reader.want();
      await settled();
      for (let length = 90; length <= 4_500; length += 30) {
        grow(length);
        pass();
        reader.want();
        await settled();
        expect(ids().length).toBeLessThanOrEqual(max);
      }
      const [first = 0] = ids();
      expect(ids()).toEqual(upTo(4_500, first));
      expect(4_500 - first).toBeGreaterThan(max - 60);
      if (!isFollowed) return;
      await reader.older();
      expect(ids()).toEqual(upTo(4_500, first - 60));
    },
  );

  it("loads no more than it may, however far somebody reads back", async () => {
    const { reader, ids } = reading(4_500, 60);
    reader.follow(false);
    reader.want();
    await settled();
    for (let page = 0; page < 60; page += 1) await reader.older();
    expect(ids().length).toBeLessThan(KEPT_READ_MAX + 60);
    expect(reader.get().isFull).toBe(true);
  });

  it("asks once for many wants, and once more for those that came meanwhile", async () => {
    const { reader, asked, pass } = reading(5, 10);
    reader.want();
    reader.want();
    reader.want();
    await settled();
    expect(asked()).toBe(1);
    pass();
    await settled();
    expect(asked()).toBe(2);
    pass();
    await settled();
    expect(asked()).toBe(2);
  });

  it("asks again for what has failed, and for nothing else", async () => {
    let isAway = true;
    let asked = 0;
    const timers: Array<() => void> = [];
    const reader = new Reader(
      async (before) => {
        asked += 1;
        if (isAway) throw new Error("no");
        return told(5, 10)(before);
      },
      (_, then) => timers.push(then),
    );
    reader.want();
    await settled();
    for (const then of timers.splice(0)) then();
    isAway = false;
    reader.again();
    await settled();
    expect(reader.get()).toMatchObject({ error: null });
    expect(reader.get().entries.length).toBe(5);
    for (const then of timers.splice(0)) then();
    reader.again();
    await settled();
    expect(asked).toBe(2);
  });

  it("reads further back when the page begins amid a message that has grown", async () => {
    const note = (id: string, text = id): Entry => ({ ...entry(0), id, what: "note", text });
    let talk = [note("z.0"), note("a.0"), note("a.1", "a call")];
    const timers: Array<() => void> = [];
    const reader = new Reader(
      async (before) => {
        const end = before === null ? talk.length : Number(before);
        const from = Math.max(0, end - 3);
        return { entries: talk.slice(from, end), next: from > 0 ? `${from}` : null, missing: null };
      },
      (_, then) => timers.push(then),
    );
    reader.want();
    await settled();
    talk = [note("z.0"), note("a.0"), note("a.1", "an answer"), note("a.2"), note("a.3")];
    for (const then of timers.splice(0)) then();
    reader.want();
    await settled();
    expect(reader.get().entries).toEqual(talk);
    expect(reader.get().hasOlder).toBe(false);
  });

  it("keeps what it has when it cannot be asked for more", async () => {
    const reader = new Reader(
      async () => {
        throw new Error("no");
      },
      () => {},
    );
    reader.want();
    await settled();
    expect(reader.get()).toMatchObject({ isKnown: true, entries: [], error: new Error("no") });
  });
});
