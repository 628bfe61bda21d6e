/** A page that is left open while the daemon comes and goes: it says so, and catches up by itself. */

import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Event, Events } from "../src/wire";
import type { House, Script } from "./house";
import { drawn, everyRow, rowOf, scroll } from "./log";
import { Relay } from "./relay";
import { test } from "./stage";
import { stocked } from "./stock";
import { openBrowser, Visit } from "./visit";
import { until } from "./wait";

const ASKS: Script = {
  rules: [{ steps: [{ write: { path: "made.txt", text: "x", ask: true } }] }],
};

/** Works until there is a file of this name in its folder. */
const WORKS: Script = {
  rules: [{ steps: [bash("until [ -e enough ]; do sleep 0.05; done")] }],
};

const ROUNDS = 4;

const withMany = stocked(5_000);

const everything = () => true;
const ofAgents = ({ kind }: Event) => kind.startsWith("agent.");
const ofProjects = ({ kind }: Event) => kind.startsWith("project.");

for (const [name, path, fits] of [
  ["the whole log", "/activity", everything],
  ["what a filter leaves of it", "/activity?kind=agent.", ofAgents],
] as const) {
  test(`${name} has each event once and in order, however often the daemon was killed`, async ({
    house,
    sign,
  }) => {
    const shop = await house.project("shop");
    await house.agent(shop, "api");
    const visit = await sign({ path });
    await drawn(visit.page);
    for (let round = 1; round <= ROUNDS; round += 1) {
      await house.send("api", `before the ${round}. crash`);
      await visit.outage();
      await saysItIsBehind(visit.page);
      await visit.back(async () => {
        await house.start();
        await Promise.all([
          house.project(`mill-${round}`),
          house.launch(shop, `helper-${round}`),
          house.send("api", `after the ${round}. crash`),
        ]);
      });
    }
    await settles(house);
    await showsJust(visit.page, async () => (await house.events()).filter(fits));
  });
}

test("every page can be opened while the daemon is away", async ({ house, sign }) => {
  await house.project("shop");
  const visit = await sign();
  const { page } = visit;
  await page.getByText("No agents here.").waitFor();
  const loaded = () =>
    page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  for (const code of ["agent-", "messages-", "activity-", "health-", "settings-"]) {
    await until(`${code} is loaded`, async () => {
      return (await loaded()).some((name) => name.includes(`/assets/${code}`));
    });
  }
  await visit.outage();
  await saysItIsBehind(page);
  for (const name of ["Inbox", "Messages", "Activity", "Health", "Settings", "Fleet"]) {
    await page.getByRole("navigation").getByText(name, { exact: true }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
  }
  await visit.back();
});

test("the fleet is as it has become while the daemon was away", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "calm");
  await house.agent(shop, "asks", ASKS);
  await house.agent(shop, "works", WORKS);
  const dies = await house.agent(shop, "dies");
  const visit = await sign();
  const { page } = visit;
  await house.send("asks", "write it");
  await house.send("works", "work");
  await has(page, "asks", "Needs you");
  await has(page, "works", "Busy");

  await visit.outage();
  await saysItIsBehind(page);
  await visit.back();
  await has(page, "calm", "Idle");
  await has(page, "asks", "Needs you");
  await has(page, "works", "Busy");

  await visit.outage();
  writeFileSync(join(house.folder, "shop", "enough"), "");
  process.kill(dies.pid as number, "SIGKILL");
  await saysItIsBehind(page);
  await has(page, "works", "Busy");
  await visit.back();
  await house.launch(shop, "new");
  for (const name of ["calm", "works", "dies", "new"]) await has(page, name, "Idle");
  await has(page, "asks", "Needs you");
  expect((await house.look("dies")).run).not.toBe(dies.run);
});

for (const [name, query] of [
  ["the log", ""],
  ["what a filter leaves of the log", "kind=tool."],
] as const) {
  withMany(
    `${name} that is scrolled to while the daemon is away comes with it`,
    async ({ house, sign }) => {
      const visit = await sign({ path: `/activity?${query}` });
      const { page } = visit;
      await drawn(page);
      await visit.outage();
      await scroll(page, query === "" ? 0.5 : 0);
      const failed = page.getByText("The log cannot be read");
      await failed.waitFor();
      await visit.back();
      await failed.waitFor({ state: "detached" });
      const rows = await drawn(page);
      const asked = `/api/events?since=${(rows[0]?.id ?? 0) - 1}&limit=${rows.length}&${query}`;
      const { events } = await house.ask<Events>("GET", asked);
      expect(rows).toEqual(events.map(rowOf));
    },
  );
}

for (const [name, path, fits] of [
  ["the log", "/activity", everything],
  ["what a filter leaves of the log", "/activity?kind=project.", ofProjects],
] as const) {
  test(`${name} begins anew when the store was damaged and mended`, async ({ house, sign }) => {
    const visit = await sign({ path });
    const { page } = visit;
    await house.project("shop");
    await showsJust(page, async () => (await house.events()).filter(fits));
    const before = (await house.status()).store.log;

    // What is not in the database itself yet would make up for the damage.
    await visit.outage(() => house.json("daemon", "stop"));
    await house.kill();
    damage(join(house.home, "cmux.db"));
    await visit.back(async () => {
      await house.start();
      await house.project("mill");
    });
    expect((await house.status()).store.log).not.toBe(before);
    await page.getByRole("navigation").getByRole("link", { name: "mill" }).waitFor();
    await showsJust(page, async () => (await house.events()).filter(fits));
  });
}

test("a restored store lets in nobody who was let in before, and is shown to who comes anew", async ({
  house,
  sign,
}) => {
  const visit = await sign({ path: "/activity" });
  const { page } = visit;
  visit.allow(/401 \(Unauthorized\)/);
  await house.project("old");
  await house.token("operate");
  const copy = join(house.folder, "copy.db");
  await house.json("db", "backup", copy);
  await house.project("new");
  const projects = page.getByRole("navigation");
  await projects.getByRole("link", { name: "new" }).waitFor();

  await visit.outage();
  await house.json("db", "restore", copy);
  await house.start();
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  await visit.back(async () => {
    await page.goto(await house.link());
    await visit.go("/activity");
  });
  await projects.getByRole("link", { name: "old" }).waitFor();
  expect(await projects.getByRole("link", { name: "new" }).count()).toBe(0);
  await showsJust(page, () => house.events());
});

for (const [name, cut, rounds] of [
  ["that was cut off the network", "closed", ROUNDS],
  ["that has heard nothing for long", "silent", 1],
] as const) {
  test(`a page ${name} says so, and catches up when it is back`, async ({
    house,
    onTestFinished,
  }) => {
    const shop = await house.project("shop");
    await house.agent(shop, "api");
    const relay = await Relay.to(house.port);
    onTestFinished(() => relay.close());
    const browser = await openBrowser([relay.flag]);
    onTestFinished(() => browser.close());
    const visit = await Visit.sign(browser, house, { path: "/activity" });
    const { page } = visit;
    await drawn(page);
    for (let round = 1; round <= rounds; round += 1) {
      await visit.outage(() => relay.set(cut));
      await house.send("api", `behind its back ${round}`);
      await house.project(`mill-${round}`);
      await saysItIsBehind(page);
      await visit.back(() => relay.set("open"));
    }
    await settles(house);
    await showsJust(page, () => house.events());
    await visit.close();
  });
}

function bash(command: string) {
  return { tool: { name: "Bash", input: { command }, ask: false } };
}

/** Waits until the page says that it does not show how things are. */
async function saysItIsBehind(page: Page): Promise<void> {
  await page.getByText(/^Reconnecting… This is what was known at/).waitFor();
}

/** Waits until all agents are at their prompts and have read all. */
async function settles(house: House): Promise<void> {
  await until("all agents have read all", async () => {
    const { agents } = await house.status();
    return agents.every(({ phase, queue }) => phase === "idle" && queue === 0);
  });
}

/** Waits until the page shows all of these events, in this order, and nothing else. */
async function showsJust(page: Page, events: () => Promise<Event[]>): Promise<void> {
  let [wanted, rows]: unknown[] = [];
  const isSo = async () => {
    wanted = (await events()).map(rowOf);
    rows = await everyRow(page);
    return JSON.stringify(rows) === JSON.stringify(wanted);
  };
  await until("the page shows what is in the log", isSo).catch(() => expect(rows).toEqual(wanted));
}

/** Waits until an agent is shown so in the fleet. */
async function has(page: Page, name: string, phase: string): Promise<void> {
  const link = page.getByRole("link", { name, exact: true });
  const row = page.getByRole("listitem").filter({ has: link });
  await row.getByText(phase, { exact: true }).waitFor();
}

/** Writes over the first word of a database, so that it is none. All else can be read from it. */
function damage(path: string): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(16), 0, 16, 0);
  closeSync(file);
}
