/** The log: followed as it grows, narrowed down, opened, and as quick when it is long. */

import type { Page, Route } from "playwright-core";
import { expect } from "vitest";
import type { Event, Events } from "../src/wire";
import type { House } from "./house";
import { drawn, drawnAt, everyRow, rowOf, scroll } from "./log";
import { test } from "./stage";
import { needleOf, stocked } from "./stock";
import { until } from "./wait";

const LONG = 100_000;
/** How many rows are drawn at most, however many there are. */
const DRAWN_MAX = 200;

/** How far is scrolled in a frame and in how many, and how long nine of ten may take; in which of how many rounds. */
const SCROLLED_PX = 400;
const FRAMES = 120;
const FRAME_MAX_MS = 50;
const ROUNDS = 5;

const withSome = stocked(500);
const withMany = stocked(LONG);

test("what happens is at the end of the log by itself", async ({ house, sign }) => {
  const { page } = await sign({ path: "/activity" });
  await shows(page, () => house.events());
  await house.project("shop");
  await page.getByRole("listitem").filter({ hasText: "project.added" }).waitFor();
  await shows(page, () => house.events());
  expect((await drawn(page)).at(-1)?.kind).toBe("project.added");
});

test("an event that comes while the others are on their way is shown with them", async ({
  house,
  sign,
}) => {
  const { page } = await sign();
  const shop = page.getByRole("navigation").getByRole("link", { name: "shop" });
  const late = async (route: Route) => {
    const response = await route.fetch();
    await house.project("shop");
    await shop.waitFor();
    await route.fulfill({ response });
  };
  await page.route(/\/api\/events\?since=0&limit=200$/, late, { times: 1 });
  await page.getByRole("link", { name: "Activity" }).click();
  await shows(page, () => house.events());
});

withSome(
  "whoever reads older events stays there, and is told of new ones",
  async ({ house, sign }) => {
    const { page } = await sign({ path: "/activity" });
    await drawn(page);
    const before = await drawnAt(page, 0.5);
    await house.project("shop");
    const pill = page.getByRole("button", { name: "1 new event" });
    await pill.waitFor();
    expect(await drawn(page)).toEqual(before);
    await pill.click();
    await page.getByRole("listitem").filter({ hasText: "project.added" }).waitFor();
    await pill.waitFor({ state: "detached" });
  },
);

withSome(
  "whoever scrolls up just as an event comes is not taken back to the end",
  async ({ house, sign }) => {
    const { page } = await sign({ path: "/activity" });
    await drawn(page);
    // A page hears of scrolling with the next frame, and of an event at any time.
    await page.evaluate(() => {
      const hold = (event: globalThis.Event) => event.stopImmediatePropagation();
      document.addEventListener("scroll", hold, { capture: true, once: true });
    });
    await scroll(page, 0.5);
    await house.project("shop");
    await page.getByRole("button", { name: "Newest" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "shop" }).waitFor();
    expect((await drawn(page)).at(-1)?.id).toBeLessThan(400);
  },
);

test("the log is narrowed down to a project, an agent and a kind, and a link shows the same", async ({
  house,
  sign,
}) => {
  const [shop, mill] = [await house.project("shop"), await house.project("mill")];
  await house.agent(shop, "api");
  const miller = await house.agent(mill, "miller");
  await house.agent(mill, "helper");
  await house.send("miller", "grind");
  await house.until("miller", ({ phase, queue }) => phase === "idle" && queue === 0);
  const { page } = await sign({ path: "/activity" });
  const steps: Array<[string, RegExp | string, (event: Event) => boolean]> = [
    ["Project", "mill", ({ project }) => project === mill],
    ["Agent", /^miller/, ({ agent }) => agent === miller.id],
    ["Kind", "Mail", ({ kind }) => kind.startsWith("message.")],
  ];
  const fits: Array<(event: Event) => boolean> = [];
  for (const [filter, option, fitsThis] of steps) {
    fits.push(fitsThis);
    await choose(page, filter, option);
    const narrowed = async () =>
      (await house.events()).filter((one) => fits.every((it) => it(one)));
    await shows(page, narrowed);
    await page.reload();
    await shows(page, narrowed);
    const { page: other } = await sign({ path: pathOf(page) });
    await shows(other, narrowed);
  }
  await page.getByRole("button", { name: "Clear" }).click();
  await shows(page, () => house.events());
  expect(pathOf(page)).toBe("/activity");
});

test("the log is searched, and what fits goes on to come", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const { page } = await sign({ path: "/activity" });
  await drawn(page);
  await page.keyboard.press("/");
  await page.keyboard.type("Mill-Race");
  const found = async () => {
    const { events } = await house.ask<Events>("GET", "/api/events?q=mill-race");
    return events;
  };
  await page.getByRole("heading", { name: "Nothing in the log fits" }).waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("Mill-Race");
  await house.project("mill-race");
  await shows(page, found);
  expect(await drawn(page)).toHaveLength(1);
  await page.reload();
  await shows(page, found);
  expect(await page.getByRole("searchbox").inputValue()).toBe("Mill-Race");
  const { page: other } = await sign({ path: pathOf(page) });
  await shows(other, found);
});

test("an event is opened, linked to, and closed", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page } = await sign({ path: "/activity", permissions });
  const spawned = (await house.events()).find(({ kind }) => kind === "agent.spawned");
  if (spawned === undefined) throw new Error("nobody was spawned");
  const row = page.locator(`[data-row="${spawned.id}"]`);
  await row.click();
  await tells(page, spawned);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.getByText("The link is copied").waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  const { page: other } = await sign({ path: link.pathname + link.search });
  await tells(other, spawned);
  await other.getByRole("link", { name: "Open the agent" }).click();
  await other.getByRole("heading", { name: "api" }).waitFor();

  await page.getByRole("button", { name: "Only agent.spawned" }).click();
  await shows(page, async () => (await house.events()).filter((it) => it.kind === spawned.kind));
  await tells(page, spawned);
  await page.keyboard.press("Escape");
  await page.getByLabel("What it tells").waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.has("at")).toBe(false);
});

withMany(
  "of a hundred thousand events those in sight are drawn, wherever that is",
  async ({ house, sign }) => {
    const { page } = await sign({ path: "/activity" });
    const needle = needleOf(LONG);
    for (const part of [1, 0, needle / LONG, 0.25, 1]) {
      const rows = await drawnAt(page, part);
      expect(rows.length).toBeGreaterThan(10);
      expect(rows.length).toBeLessThan(DRAWN_MAX);
      expect(rows).toEqual(await told(house, rows[0]?.id ?? 0, rows.length));
      if (part === 0) expect(rows[0]?.id).toBe(1);
      if (part === needle / LONG) expect(rows.map(({ id }) => id)).toContain(needle);
    }
    const head = (await house.status()).store.head;
    await until("the newest is in sight", async () => (await drawn(page)).at(-1)?.id === head);
  },
);

withMany("a hundred thousand events scroll smoothly from the end on", async ({ sign }) => {
  const { page } = await sign({ path: "/activity" });
  const rounds: Array<{ stillMs: number; movingMs: number; blank: number }> = [];
  const isSmooth = () =>
    rounds.some(({ stillMs, movingMs }) => movingMs <= Math.max(FRAME_MAX_MS, 2 * stillMs));
  while (!isSmooth() && rounds.length < ROUNDS) {
    await drawnAt(page, 1);
    const still = await frames(page, 0);
    const moving = await frames(page, -SCROLLED_PX);
    rounds.push({ stillMs: still.slowMs, movingMs: moving.slowMs, blank: moving.blank });
    // Each frame shows rows: those that are on their way as their shapes.
    expect(moving.blank).toBe(0);
    expect(moving.scrolledPx).toBe(FRAMES * SCROLLED_PX);
  }
  console.log(`nine of ten frames, still and while it scrolls: ${JSON.stringify(rounds)}`);
  expect(isSmooth(), JSON.stringify(rounds)).toBe(true);
});

/** Scrolls by so much in each of many frames, and returns how long the slow ones took and how many were empty. */
function frames(page: Page, byPx: number) {
  return page.evaluate(
    async ({ byPx, count }) => {
      const list = document.querySelector('ol[aria-label="Events"]');
      const box = list?.parentElement;
      if (!list || !box) throw new Error("there is no log");
      const begin = box.scrollTop;
      const took: number[] = [];
      let blank = 0;
      let before = await new Promise(requestAnimationFrame);
      for (let frame = 0; frame < count; frame += 1) {
        box.scrollTop += byPx;
        const now = await new Promise(requestAnimationFrame);
        took.push(now - before);
        before = now;
        // What was scrolled to is drawn by the frame after.
        await new Promise(requestAnimationFrame).then((at) => {
          took.push(at - before);
          before = at;
        });
        const { top, bottom } = box.getBoundingClientRect();
        const isThere = [...list.children].some((row) => {
          const place = row.getBoundingClientRect();
          return place.top <= (top + bottom) / 2 && place.bottom >= (top + bottom) / 2;
        });
        if (!isThere) blank += 1;
      }
      took.sort((one, other) => one - other);
      const slowMs = took[Math.floor(took.length * 0.9)] ?? 0;
      return { slowMs, blank, scrolledPx: begin - box.scrollTop };
    },
    { byPx, count: FRAMES },
  );
}

withMany(
  "what is in the middle of a long log is found, and opened by a link",
  async ({ house, sign }) => {
    const { page } = await sign({ path: "/activity" });
    const needle = needleOf(LONG);
    await page.getByRole("searchbox").fill("needle");
    await page.getByText("Nothing older fits").waitFor();
    expect(await everyRow(page)).toEqual(await told(house, needle, 1));
    await page.locator(`[data-row="${needle}"]`).click();
    await page.getByRole("button", { name: "Clear" }).click();
    const around = await drawn(page);
    expect(around.map(({ id }) => id)).toContain(needle);
    expect(around).toEqual(await told(house, around[0]?.id ?? 0, around.length));

    const { page: other } = await sign({ path: `/activity?at=${needle}` });
    const [event] = (await house.ask<Events>("GET", `/api/events?since=${needle - 1}&limit=1`))
      .events;
    await tells(other, event as Event);
    expect((await drawn(other)).length).toBeLessThan(DRAWN_MAX);
  },
);

withMany(
  "a long log is narrowed down, and its matches are gone through",
  async ({ house, sign }) => {
    const north = await house.project("north");
    const { page } = await sign({ path: "/activity" });
    await choose(page, "Project", "north");
    await choose(page, "Kind", "Turns");
    const query = `project=${north}&kind=turn.&limit=1000`;
    const newest = (await house.ask<Events>("GET", `/api/events?${query}`)).events.map(rowOf);
    const end = await drawn(page);
    expect(end).toEqual(newest.slice(-end.length));
    // Older ones are fetched as one comes near them.
    await until("a thousand were gone through", async () => {
      const rows = await drawnAt(page, 0);
      expect(rows.length).toBeLessThan(DRAWN_MAX);
      const [first] = rows;
      return first !== undefined && first.id <= (newest[0]?.id ?? 0);
    });
  },
);

/** Waits until the page shows just these events: the last of them, and how many there are. */
async function shows(page: Page, events: () => Promise<Event[]>): Promise<void> {
  await until(`${page.url()} shows what is in the log`, async () => {
    const wanted = (await events()).map(rowOf);
    const rows = await drawn(page);
    const count = `${wanted.length} event${wanted.length === 1 ? "" : "s"}`;
    const isCounted = await page.getByText(count, { exact: true }).isVisible();
    return isCounted && JSON.stringify(rows) === JSON.stringify(wanted.slice(-rows.length));
  });
}

/** Waits until the page shows what an event tells. */
async function tells(page: Page, event: Event): Promise<void> {
  const said = await page.getByLabel("What it tells").textContent();
  expect(JSON.parse(said ?? "")).toEqual(event.data);
  expect(new URL(page.url()).searchParams.get("at")).toBe(String(event.id));
  const facts = await page.getByRole("definition").allTextContents();
  expect(facts).toEqual(expect.arrayContaining([String(event.id), event.actor]));
}

async function choose(page: Page, filter: string, option: RegExp | string): Promise<void> {
  await page.getByRole("combobox", { name: filter }).click();
  const name = typeof option === "string" ? { name: option, exact: true } : { name: option };
  await page.getByRole("option", name).click();
  await page.getByRole("listbox").waitFor({ state: "detached" });
}

function pathOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

/** Returns what the daemon tells of as many events from one on. */
async function told(house: House, from: number, count: number) {
  const asked = `/api/events?since=${from - 1}&limit=${count}`;
  return (await house.ask<Events>("GET", asked)).events.map(rowOf);
}
