/** The terminal in a page: who has the keys, how it is answered, how large it is, and how it is read. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Terminal } from "../src/wire";
import type { House } from "./house";
import { choose } from "./palette";
import { Relay } from "./relay";
import { listen, screen, shows } from "./screen";
import { test } from "./stage";
import { openBrowser, Visit } from "./visit";
import { until } from "./wait";

const ASKS = { rules: [{ steps: [{ write: { path: "made.txt", text: "x", ask: true } }] }] };

const QUESTION = "Do you want to proceed?";

test("Escape goes to the agent, and the keys that give the keyboard back do not", async ({
  house,
  sign,
}) => {
  const { page, typed } = await asked(house, sign);
  await page.getByRole("button", { name: "Take keyboard" }).click();
  await page.getByText("Your keys go to api").waitFor();
  await page.keyboard.press("Control+]");
  await page.getByText("Live. It takes no keys.").waitFor();
  expect(await focused(page)).toBe("Terminal of api");
  await page.keyboard.press("Control+]");
  await page.getByText("Your keys go to api").waitFor();
  expect(typed).toEqual([]);
  expect((await house.look("api")).phase).toBe("asking");
  expect(await screen(page)).toContain(QUESTION);

  await page.keyboard.press("Escape");
  await house.until("api", ({ phase }) => phase === "idle");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await until("each was sent", () => typed.join("") === "\x1b\x1b\x1b");
  await page.getByText("Your keys go to api").waitFor();
});

test("what is typed at a terminal that takes no keys is for nobody", async ({ house, sign }) => {
  const { page, typed } = await asked(house, sign);
  await page.locator(".xterm-screen").click();
  expect(await focused(page)).toBe("Terminal of api");
  for (const key of ["2", "c", "?", "Enter", "Escape"]) await page.keyboard.press(key);
  await page.getByText("That was not sent: take the keyboard to type.").waitFor();
  expect(await page.getByRole("tab", { name: "Terminal" }).getAttribute("aria-selected")).toBe(
    "true",
  );
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(typed).toEqual([]);
  await page.getByRole("tab", { name: "Terminal" }).focus();
  await page.getByText("Live. It takes no keys.").waitFor();
});

test("a permission is given by a click on a key, and the keyboard stays with the page", async ({
  house,
  sign,
}) => {
  const { page, typed } = await asked(house, sign);
  await page.getByText("Wants a permission: answer in its terminal").waitFor();
  await page.locator("q", { hasText: QUESTION }).waitFor();
  const keys = page.getByRole("toolbar", { name: "Keys for api" });
  await keys.getByRole("button", { name: "1", exact: true }).click();
  await house.until("api", ({ phase }) => phase === "idle");
  await keys.waitFor({ state: "detached" });
  expect(typed).toEqual(["1"]);
  await page.getByText("Live. It takes no keys.").waitFor();
});

test("keys on the row of keys are neither the page's nor sent, but for those that always work", async ({
  house,
  sign,
}) => {
  const { page, typed } = await asked(house, sign);
  const key = page.getByRole("toolbar", { name: "Keys for api" }).getByRole("button").first();
  await key.focus();
  await page.keyboard.press("2");
  await page.keyboard.press("c");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Do anything" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await until("the key has the focus again", async () => (await focused(page)) === "Enter");
  await page.keyboard.press("Control+]");
  await page.getByText("Your keys go to api").waitFor();
  expect(typed).toEqual([]);
  await key.focus();
  await page.keyboard.press("Control+]");
  await page.getByText("Live. It takes no keys.").waitFor();
});

test("whoever wants to answer comes to the terminal with the keyboard taken", async ({
  house,
  sign,
}) => {
  const { page } = await asked(house, sign, "/");
  await page.getByRole("button", { name: "What to do with api" }).click();
  await page.getByRole("menuitem", { name: "Answer it" }).click();
  await page.getByText("Your keys go to api").waitFor();
  await shows(page, QUESTION);
  await page.keyboard.press("1");
  await house.until("api", ({ phase }) => phase === "idle");

  // The wish is for once.
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.getByText("Live. It takes no keys.").waitFor();

  await page.getByRole("tab", { name: "Conversation" }).click();
  await house.send("api", "once more");
  await page.getByRole("button", { name: "Answer api" }).click();
  await page.getByText("Your keys go to api").waitFor();
  await page.keyboard.press("Escape");
  await house.until("api", ({ phase }) => phase === "idle");
});

test("the pane fits whoever has the keys, on everybody's screen, and then is as it was", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const path = `/agents/${agent.id}`;
  const watching = (await sign({ path })).page;
  const visit = await sign({ width: 1000, height: 700 });
  const { page } = visit;
  const heard = listen(page);
  await visit.go(path);
  for (const each of [watching, page]) await shows(each, "accept edits on");
  expect(await sizeOf(house, agent.id)).toEqual([200, 50]);

  const take = page.getByRole("button", { name: "Take keyboard" });
  await take.click();
  await page.keyboard.type("typed while it changes");
  await until("the pane fits", async () => (await sizeOf(house, agent.id))[0] !== 200);
  const [columns, rows] = await sizeOf(house, agent.id);
  expect(heard.resizes).toEqual([[columns, rows]]);
  for (const each of [watching, page]) {
    await shows(each, "> typed while it changes");
    await until("it has so many rows", async () => (await rowsOf(each)) === rows);
  }
  await page.setViewportSize({ width: 900, height: 600 });
  await until("the pane fits again", async () => (await sizeOf(house, agent.id))[1] !== rows);
  const least = heard.resizes.at(-1) as [number, number];
  await until("it is shown so", async () => (await rowsOf(watching)) === least[1]);

  await page.getByRole("button", { name: "Give back" }).click();
  await until("it is as it was", async () => (await sizeOf(house, agent.id)).join() === "200,50");
  for (const each of [watching, page]) {
    await until("it is shown as it was", async () => (await rowsOf(each)) === 50);
  }
  expect(heard.connections).toBe(1);

  await take.click();
  await until("the pane fits", async () => (await sizeOf(house, agent.id))[0] !== 200);
  await page.close();
  await until("it is as it was", async () => (await sizeOf(house, agent.id)).join() === "200,50");
});

test("a daemon that is killed while somebody types gives the pane its size, and the keys come back", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const visit = await sign({ path: `/agents/${agent.id}`, width: 1000, height: 700 });
  const { page } = visit;
  await shows(page, "accept edits on");
  await page.getByRole("button", { name: "Take keyboard" }).click();
  await until("the pane fits", async () => (await sizeOf(house, agent.id))[0] !== 200);
  const fitting = await sizeOf(house, agent.id);

  await visit.outage();
  await page.getByText("What you type waits a few seconds.").waitFor();
  await visit.back();
  await page.getByText("Your keys go to api").waitFor();
  await until("the pane fits again", async () => {
    return (await sizeOf(house, agent.id)).join() === fitting.join();
  });
  await page.keyboard.type("still here");
  await shows(page, "> still here");
  await page.keyboard.press("Control+]");
  await until("it is as it was", async () => (await sizeOf(house, agent.id)).join() === "200,50");
});

test("the conversation stands beside the terminal for who wants it, where there is room", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  await house.send("api", "How far is it?", "--wait=60");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, "accept edits on");
  const talk = page.getByRole("log", { name: "Conversation of api" });
  const show = page.getByRole("button", { name: "Show the conversation beside the terminal" });
  const hide = page.getByRole("button", { name: "Hide the conversation" });
  expect(await talk.count()).toBe(0);
  await show.click();
  await talk.getByText("How far is it?").first().waitFor();
  await page.reload();
  await talk.waitFor();
  await shows(page, "accept edits on");
  await page.setViewportSize({ width: 900, height: 700 });
  await talk.waitFor({ state: "detached" });
  expect((await show.count()) + (await hide.count())).toBe(0);
  await page.setViewportSize({ width: 1440, height: 900 });
  await talk.waitFor();
  await choose(page, "hide the conversation");
  await talk.waitFor({ state: "detached" });
  await choose(page, "conversation beside the terminal");
  await talk.waitFor();
  await hide.click();
  await show.waitFor();
});

test("a terminal that may be dead is tried anew as soon as there is a network again", async ({
  house,
  onTestFinished,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const relay = await Relay.to(house.port);
  onTestFinished(() => relay.close());
  const browser = await openBrowser([relay.flag]);
  onTestFinished(() => browser.close());
  const visit = await Visit.sign(browser, house, { path: `/agents/${agent.id}` });
  const { page } = visit;
  const panel = page.getByRole("tabpanel", { name: "Terminal" });
  const state = panel.getByRole("status").filter({ hasText: /^(Live\.|Connecting…|Lost)/ });
  const says = async () => (await state.textContent()) ?? "";
  await until("it is live", async () => (await says()).startsWith("Live."));
  await visit.outage(() => relay.set("silent"));
  await until("it is tried anew, and was not known to be lost before", async () => {
    await page.evaluate(() => dispatchEvent(new Event("online")));
    const said = await says();
    expect(said).not.toContain("Lost");
    return said.startsWith("Connecting…");
  });
  await visit.back(() => relay.set("open"));
  await until("it is live again", async () => (await says()).startsWith("Live."));
  await visit.close();
});

test("a page that is looked at again shows what it did, where it did", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const long = { rules: [{ steps: [{ stream: { lines: 2_500, every_ms: 0 } }] }] };
  const agent = await house.agent(shop, "api", long);
  await house.send("api", "the very first line", "--wait=60");
  await house.until("api", ({ phase }) => phase === "idle");
  const visit = await sign();
  const { page } = visit;
  const heard = listen(page);
  await visit.go(`/agents/${agent.id}`);
  await shows(page, "line 2500");
  await page.getByRole("region", { name: "Terminal of api" }).focus();
  await page.keyboard.press("Home");
  // That is more than a thousand lines above.
  await shows(page, "the very first line");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await shows(page, "the very first line");
  expect(heard.connections).toBe(1);
});

test("letters can be read, are as large as a person wants, and an address is a link", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const address = house.address("/livez?a=b");
  const script = { rules: [{ steps: [{ say: `Look at ${address}.` }] }] };
  const agent = await house.agent(shop, "api", script);
  await house.send("api", "where?", "--wait=60");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, address);
  expect(await fontOf(page)).toBe(11);
  await page.getByRole("button", { name: "Larger letters" }).click();
  await until("letters are larger", async () => (await fontOf(page)) === 12);
  await page.reload();
  await shows(page, address);
  await until("letters are as large as before", async () => (await fontOf(page)) === 12);

  const opened = page.context().waitForEvent("page");
  const { x, y } = await placeOf(page, address);
  await page.mouse.move(x, y);
  await page.mouse.click(x, y);
  const other = await opened;
  await other.waitForURL(address);
  expect(await other.evaluate(() => window.opener)).toBe(null);
});

test("keys go to a terminal that has the focus, and it can be read aloud", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, "accept edits on");
  await page.getByRole("button", { name: "Take keyboard" }).click();
  await page.getByText("Your keys go to api").waitFor();
  await page.getByRole("heading", { name: "api", level: 1 }).click();
  await page.getByRole("tab", { name: "Terminal" }).focus();
  await page.getByText("Click the terminal to type into api").waitFor();
  await page.locator(".xterm-screen").click();
  await page.getByText("Your keys go to api").waitFor();
  await page.keyboard.press("Control+]");

  const read = page.getByRole("button", { name: "Read by a screen reader" });
  expect(await page.getByRole("list").filter({ hasText: "accept edits on" }).count()).toBe(0);
  await read.press("Enter");
  await page.getByRole("list").filter({ hasText: "accept edits on" }).waitFor();
  expect(await read.getAttribute("aria-pressed")).toBe("true");
});

type Sign = (wanted?: { path?: string }) => Promise<{
  page: Page;
  go: (path: string) => Promise<void>;
}>;

/** Launches an agent that asks for a permission, and opens its page or another one. */
async function asked(house: House, sign: Sign, path?: string) {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api", ASKS);
  await house.send("api", "write it");
  await house.until("api", ({ phase }) => phase === "asking");
  const visit = await sign();
  const { page } = visit;
  const { typed } = listen(page);
  await visit.go(path ?? `/agents/${agent.id}`);
  if (path === undefined) await shows(page, QUESTION);
  return { page, typed };
}

async function sizeOf(house: House, agent: string): Promise<[number, number]> {
  return (await house.ask<Terminal>("GET", `/api/agents/${agent}/terminal`)).size;
}

function rowsOf(page: Page): Promise<number> {
  return page.locator(".xterm-rows > div").count();
}

function fontOf(page: Page): Promise<number> {
  const read = (rows: Element) => Number.parseFloat(getComputedStyle(rows).fontSize);
  return page.locator(".xterm-rows").evaluate(read);
}

/** Returns what is called that has the focus. */
function focused(page: Page): Promise<string | null> {
  return page.evaluate(() => document.activeElement?.ariaLabel ?? null);
}

/** Returns where the middle of a text is on the terminal. */
function placeOf(page: Page, text: string): Promise<{ x: number; y: number }> {
  return page.locator(".xterm-rows").evaluate((rows, text) => {
    const walker = document.createTreeWalker(rows, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const at = node.textContent?.replaceAll("\u00a0", " ").indexOf(text) ?? -1;
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      const { left, top, width, height } = range.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    }
    throw new Error(`${text} is not on the terminal`);
  }, text);
}
