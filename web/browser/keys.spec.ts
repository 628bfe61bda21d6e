/** The palette and the keyboard: all that can be done without a mouse. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { choose } from "./palette";
import { test as alone } from "./stage";
import { open, test, viewsOf } from "./team";
import { until } from "./wait";

test("the palette opens on every page, and Escape gives the focus back", async ({ sign, team }) => {
  const visit = await sign();
  const { page } = visit;
  for (const view of viewsOf(team)) {
    await open(visit, view);
    if ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");
    const place = page.getByRole("navigation").getByRole("link", { name: "Health" });
    await place.focus();
    const address = page.url();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Do anything" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await until(`${view.name} has its focus back`, async () => (await focused(page)) === "Health");
    expect(page.url(), view.name).toBe(address);
  }
});

test("the palette finds an agent by a few letters, and goes to any page", async ({
  sign,
  house,
}) => {
  const { page } = await sign({ path: "/health" });
  const importer = await house.look("importer");
  await choose(page, "impo");
  await page.waitForURL(`**/agents/${importer.id}`);
  for (const [typed, path] of [
    ["activ", "/activity"],
    ["inb", "/inbox"],
    ["messages", "/messages"],
    ["settings", "/settings"],
    ["project atlas", "/projects/*"],
    ["fleet", "/"],
  ] as const) {
    await choose(page, typed);
    await page.waitForURL(`**${path}`);
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nothing is called so");
  await page.getByText("Nothing is called so.").waitFor();
});

alone("the palette spawns, writes and pauses, and asks whom", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  await house.agent(shop, "web");
  const { page } = await sign({ path: "/health" });
  await choose(page, "spawn");
  const dialog = page.getByRole("dialog", { name: "Spawn an agent" });
  await dialog.getByRole("textbox", { name: "Name" }).waitFor();
  await until("its name can be typed", async () => (await focused(page)) === "Name");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await choose(page, "write to an", "web");
  await page.getByRole("dialog", { name: "Write a message" }).waitFor();
  expect(await page.getByLabel("To", { exact: true }).inputValue()).toBe("web");
  await until("it can be written", async () => (await focused(page)) === "Message");
  await page.keyboard.press("Escape");

  await choose(page, "pause", "api");
  await house.until("api", ({ intent }) => intent === "pause");
  expect((await house.look("web")).intent).toBe("run");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("resume");
  await page.keyboard.press("Enter");
  await page.getByPlaceholder("Which one?").waitFor();
  await page.keyboard.press("Backspace");
  await page.getByPlaceholder("What do you want to do?").waitFor();
});

test("a dialog gives the focus back to what opened it", async ({ sign }) => {
  const { page } = await sign();
  const menu = page.getByRole("button", { name: "What to do with tests" });
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Stop" }).click();
  await page.getByRole("alertdialog", { name: "Stop tests?" }).waitFor();
  await page.keyboard.press("Escape");
  await until("the menu's button has it", async () => {
    return (await focused(page)) === "What to do with tests";
  });
  await page.getByRole("button", { name: "Spawn an agent" }).press("Enter");
  await page.getByRole("dialog", { name: "Spawn an agent" }).waitFor();
  await page.keyboard.press("Escape");
  await until("the button has it", async () => (await focused(page)) === "Spawn an agent");
});

test("two keys go to each page, and a sheet tells all keys", async ({ sign }) => {
  const { page } = await sign();
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  for (const [key, name] of [
    ["i", "Inbox"],
    ["m", "Messages"],
    ["a", "Activity"],
    ["h", "Health"],
    ["s", "Settings"],
    ["f", "Fleet"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    expect(await page.title()).toContain(`${name} · cmux`);
  }
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const label of ["Do anything", "Go to Health", "Next agent", "Spawn an agent"]) {
    await sheet.getByText(label, { exact: true }).waitFor();
  }
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await page.keyboard.press("c");
  await page.getByRole("dialog", { name: "Write a message" }).waitFor();
});

test("Escape closes what a link has opened, and stays on its page", async ({ sign, team }) => {
  const visit = await sign();
  const { page } = visit;
  const conversation = page.getByRole("region", { name: "Conversation" });
  for (const [place, search, opened] of [
    ["/messages", `thread=${team.talk}`, conversation],
    ["/inbox", `thread=${team.talk}`, conversation],
    ["/activity", `at=${team.event}`, page.getByLabel("What it tells")],
  ] as const) {
    await visit.go(`${place}?${search}`);
    await opened.waitFor();
    await page.keyboard.press("Escape");
    await opened.waitFor({ state: "detached" });
    expect(page.url()).toBe(new URL(place, page.url()).href);
  }

  // A page that was loaded again has others before it, to which Escape must not go instead.
  await visit.go("/health");
  await page.getByRole("navigation").getByRole("link", { name: "Messages" }).click();
  await page.locator(`[data-row="${team.talk}"]`).click();
  await conversation.waitFor();
  await page.reload();
  await conversation.waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "No conversation is open" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/messages");
});

test("c writes over the conversation that is open, which stays if nothing is written", async ({
  sign,
  team,
}) => {
  const { page } = await sign({ path: `/messages?thread=${team.talk}&agent=${team.api}` });
  const conversation = page.getByRole("region", { name: "Conversation" });
  await conversation.waitFor();
  const before = page.url();
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "Write a message" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await conversation.waitFor();
  await until("the address is as before", () => page.url() === before);
});

test("keys that are typed into a field are text, and nothing else", async ({ sign, team }) => {
  const visit = await sign();
  const { page } = visit;
  const typed = "gh? njk c/";
  for (const [path, field] of [
    ["/", page.getByRole("searchbox", { name: "Find an agent" })],
    ["/activity", page.getByRole("searchbox", { name: "Search the log" })],
    ["/messages?compose=new", page.getByLabel("Message", { exact: true })],
    [`/messages?thread=${team.talk}`, page.getByRole("textbox", { name: "Answer lead" })],
  ] as const) {
    await visit.go(path);
    const title = page.getByRole("heading", { level: 1, includeHidden: true });
    await field.focus();
    const before = await title.textContent();
    await page.keyboard.type(typed);
    expect(await field.inputValue()).toBe(typed);
    expect(await title.textContent()).toBe(before);
    expect(await page.getByRole("dialog", { name: /Spawn|shortcuts/ }).count()).toBe(0);
    await field.fill("");
  }
});

test("j and k go from agent to agent, and a slash to the finder", async ({ sign, house }) => {
  const { page } = await sign();
  await page.getByRole("link", { name: "tiles" }).waitFor();
  const step = async (key: string, name: string) => {
    await page.keyboard.press(key);
    await until(`${key} goes to ${name}`, async () => (await focused(page)) === name);
  };
  await step("j", "web");
  await step("j", "lead");
  await step("j", "importer");
  await step("k", "lead");
  await step("/", "Find an agent");
  await page.keyboard.type("review");
  await page.getByRole("link", { name: "tiles" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "tiles" }).waitFor();
  await step("j", "importer");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/agents/${(await house.look("importer")).id}`);
});

test("j and k go from conversation to conversation, and open the next", async ({ sign }) => {
  const { page } = await sign({ path: "/messages" });
  const rows = page.getByRole("list", { name: "Conversations" }).getByRole("link");
  await rows.first().waitFor();
  const [first, second] = await rows.allTextContents();
  await page.keyboard.press("j");
  await until("the first has the focus", async () => (await focused(page)) === first);
  await page.keyboard.press("j");
  await until("the second has the focus", async () => (await focused(page)) === second);
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Conversation" }).waitFor();
  const open = page.locator("[data-row][aria-current]");
  expect(await open.textContent()).toBe(second);
  await page.keyboard.press("k");
  await until("the first is open", async () => (await open.textContent()) === first);
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "No conversation is open" }).waitFor();
});

test("j and k go from event to event, and a slash to the search", async ({ sign }) => {
  const { page } = await sign({ path: "/activity" });
  const rows = page.getByRole("list", { name: "Events" }).getByRole("button");
  await rows.last().waitFor();
  const isEvent = (text: string) => /\d\d:\d\d:\d\d.+\.\w+$/.test(text);
  await page.keyboard.press("k");
  await until("an event has the focus", async () => isEvent(await focused(page)));
  const before = await focused(page);
  await page.keyboard.press("k");
  const isNext = (text: string) => isEvent(text) && text !== before;
  await until("the one before has it", async () => isNext(await focused(page)));
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Copy JSON" }).waitFor();
  await page.keyboard.press("/");
  await until("what is typed finds", async () => (await focused(page)) === "Search the log");
});

/** Returns what is called that has the focus, or what it says. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement)) return "";
    const label = (element as HTMLInputElement).labels?.[0];
    return element.ariaLabel ?? label?.textContent ?? element.textContent;
  });
}
