/** A page that is left open while the daemon comes and goes: it says so, and catches up by itself. */

import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Event, Events, Status } from "../src/wire";
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

/** Asks the person when it is told to. */
const ASKS_THE_PERSON: Script = {
  rules: [{ steps: [bash("cmux send user --kind question 'Which one?'")] }],
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
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  await house.send("api", "This is **said**.", "--wait=60");
  const visit = await sign();
  const { page } = visit;
  await page.getByRole("link", { name: "api", exact: true }).waitFor();
  const loaded = () =>
    page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  const pages = ["agent-", "messages-", "activity-", "health-", "settings-"];
  for (const code of [...pages, "screen-", "canvas-", "markdown-body-"]) {
    await until(`${code} is loaded`, async () => {
      return (await loaded()).some((name) => name.includes(`/assets/${code}`));
    });
  }
  const go = async (name: string) => {
    await page.getByRole("navigation").getByText(name, { exact: true }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
  };
  await go("Messages");
  const talk = page.getByRole("list", { name: "Conversations" }).getByRole("link");
  await talk.filter({ hasText: "This is said." }).waitFor();
  await visit.outage();
  await saysItIsBehind(page);
  await talk.filter({ hasText: "This is said." }).click();
  await page.locator("strong", { hasText: "said" }).waitFor();
  for (const name of ["Inbox", "Messages", "Activity", "Health", "Settings", "Fleet"])
    await go(name);
  await page.getByRole("link", { name: "api", exact: true }).click();
  await page.locator(".xterm").waitFor();
  await visit.back();
  await page.getByText("Live. It takes no keys.").waitFor();
});

for (const [code, path, name] of [
  ["screen-", "agent", "The terminal"],
  ["canvas-", "/health", "What draws the plots"],
  ["health-", "/health", "This page"],
] as const) {
  test(`where ${name.toLowerCase()} could not be loaded it says so, and all else is there`, async ({
    house,
    browser,
  }) => {
    const shop = await house.project("shop");
    const agent = await house.agent(shop, "api");
    const visit = await Visit.stranger(browser, house);
    visit.allow(/net::ERR_FAILED/);
    const { page } = visit;
    const isPart = `**/assets/${code}*`;
    await page.route(isPart, (route) => route.abort());
    await page.goto(await house.link());
    await visit.go(path === "agent" ? `/agents/${agent.id}?tab=terminal` : path);
    const note = page.getByRole("alert").filter({ hasText: `${name} could not be loaded` });
    await note.waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.unroute(isPart);
    await note.getByRole("button", { name: "Try again" }).click();
    await note.waitFor({ state: "detached" });
    const drawn = path === "agent" ? page.locator(".xterm") : page.locator("canvas");
    await drawn.first().waitFor();
    await visit.close();
  });
}

test("a page that fails leaves everything else, and is shown when it is tried again", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  await house.send("api", "Hello.", "--wait=60");
  const visit = await sign({ path: "/settings" });
  const { page } = visit;
  // What a page is told that no cmux ever said.
  await page.route("**/api/agents/*/history*", (route) => route.fulfill({ json: {} }));
  visit.allow(/./);
  await visit.go(`/agents/${agent.id}?tab=facts`);
  const note = page.getByRole("alert").filter({ hasText: "This page has failed" });
  await note.waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Settings" }).waitFor();
  await page.unroute("**/api/agents/*/history*");
  await note.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("table").waitFor();
});

test("what could not be read while the daemon was away is read when it is back", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  await house.send("api", "Hello.", "--wait=60");
  await house.until("api", ({ phase, queue }) => phase === "idle" && queue === 0);
  const visit = await sign({ path: `/agents/${agent.id}?tab=terminal` });
  const { page } = visit;
  await page.getByText("Live. It takes no keys.").waitFor();
  const tab = (name: string) => page.getByRole("tab", { name }).click();
  const place = (name: string) =>
    page.getByRole("navigation").getByText(name, { exact: true }).click();
  const says = (text: string | RegExp) => page.getByRole("main").getByText(text).first();
  for (const [open, back] of [
    [() => tab("Facts"), () => page.getByRole("table")],
    [() => tab("Conversation"), () => says(/Hello/)],
    [() => tab("Events"), () => page.getByRole("list", { name: /^Events of api/ })],
    [() => place("Messages"), () => says(/Hello/)],
    [() => place("Settings"), () => says("This one")],
  ] as const) {
    await visit.outage();
    await saysItIsBehind(page);
    await open();
    await page.getByRole("main").getByRole("alert").first().waitFor();
    await visit.back();
    await back().waitFor();
    await until("nothing is said to have failed", async () => {
      return (await page.getByRole("main").getByRole("alert").count()) === 0;
    });
  }
});

test("what was missed is made up for, though it is in the log no more", async ({
  house,
  onTestFinished,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", ASKS_THE_PERSON);
  const relay = await Relay.to(house.port);
  onTestFinished(() => relay.close());
  const browser = await openBrowser([relay.flag]);
  onTestFinished(() => browser.close());
  const visit = await Visit.sign(browser, house, { path: "/activity" });
  const { page } = visit;
  await drawn(page);
  await visit.outage(() => relay.set("closed"));
  await saysItIsBehind(page);
  await house.send("api", "ask me", "--wait=60");
  await until("the person was asked", async () => (await house.status()).mail.unread === 1);
  await settles(house);
  await house.project("mill");
  const file = join(house.folder, "log.jsonl");
  await until("all of it is archived", async () => {
    return (await house.run(["audit", "archive", file, "--keep-days", "0"])).code === 0;
  });
  await visit.back(() => relay.set("open"));
  const here = page.getByRole("navigation");
  await here.getByRole("link", { name: "mill" }).waitFor();
  await here.getByRole("link", { name: "Inbox 1 unread" }).waitFor();
  await showsJust(page, () => house.events());
  await house.project("later");
  await showsJust(page, () => house.events());
  const { length } = await house.events();
  await page.getByText(`${length} event${length === 1 ? "" : "s"}`, { exact: true }).waitFor();
  await here.getByRole("link", { name: "Inbox" }).click();
  await page.getByText("Which one?").first().waitFor();
  await visit.close();
});

test("a cmux that was updated offers its own page", async ({ house, sign }) => {
  await house.project("shop");
  const visit = await sign();
  const { page } = visit;
  await page.getByText("No agents here.").waitFor();
  let version = "99.0.0";
  await page.route("**/api/status", async (route) => {
    const answer = await route.fetch();
    const status = (await answer.json()) as Status;
    status.daemon.version = version;
    await route.fulfill({ json: status });
  });
  const offer = page.getByText(/^cmux was updated to 99\.0\.\d\./);
  const update = async () => {
    await visit.outage();
    await saysItIsBehind(page);
    await visit.back();
    await page.getByText(`cmux was updated to ${version}.`).waitFor();
  };
  expect(await offer.count()).toBe(0);
  await update();
  await page.getByRole("button", { name: "Not now" }).click();
  await offer.waitFor({ state: "detached" });
  version = "99.0.1";
  await update();
  await Promise.all([
    page.waitForEvent("load"),
    page.getByRole("button", { name: "Reload" }).click(),
  ]);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByText("99.0.1").waitFor();
  expect(await offer.count()).toBe(0);
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

withMany(
  "a log that is scrolled back to what is known says no more that it cannot be read",
  async ({ sign }) => {
    const visit = await sign({ path: "/activity" });
    const { page } = visit;
    await drawn(page);
    await visit.outage();
    const failed = page.getByText("The log cannot be read");
    for (const part of [0.5, 0.2]) {
      await scroll(page, part);
      await failed.waitFor();
      await scroll(page, 1);
      await failed.waitFor({ state: "detached" });
      await drawn(page);
    }
    await visit.back();
    expect(await failed.count()).toBe(0);
  },
);

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
