/** What a person writes: to whom it goes, what it is, and what is kept of it until it is sent. */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Message } from "../src/wire";
import type { Script } from "./house";
import { choose } from "./palette";
import { test } from "./stage";
import { until } from "./wait";

const REPLY = "cmux reply $(cmux inbox --json | grep -o 'msg_[0-9A-Z]*' | head -1) 'I have it.'";

/** Answers what it was sent last. */
const ANSWERS: Script = {
  rules: [{ steps: [{ tool: { name: "Bash", input: { command: REPLY }, ask: false } }] }],
};

/** Thinks about one thing for longer than any test takes, and about no other. */
const THINKS: Script = {
  rules: [
    { when: { contains: "think" }, steps: [{ say: "I think." }, { think_ms: 3_600_000 }] },
    { steps: [{ say: "ok" }] },
  ],
};

test("of several, the one whom an answer was begun to is answered, whoever speaks meanwhile", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  for (const name of ["api", "web"]) await house.agent(shop, name, ANSWERS);
  const { thread } = await house.send("api", "To api.", "--wait=60");
  const { page } = await sign({ path: `/messages?thread=${thread}` });
  const who = page.getByRole("combobox", { name: "Who is answered" });
  const answers = (name: string) => letterOf(page, `${name} to You`);
  const answered = (name: string) =>
    until(`${name} is answered`, async () => {
      const field = page.getByRole("textbox", { name: `Answer ${name}` });
      return (await field.count()) === 1 && (await who.textContent()) === `To ${name}`;
    });
  await answers("api").waitFor();
  await page.getByRole("textbox", { name: "Answer api" }).waitFor();
  expect(await who.count()).toBe(0);
  await house.send("web", "To web.", "--reply-to", thread);
  await answers("web").waitFor();
  await answered("web");

  const field = page.getByRole("textbox", { name: /^Answer/ });
  await field.fill("This is for web.");
  await house.send("api", "Again.", "--reply-to", thread);
  await until("api has spoken again", async () => (await answers("api").count()) === 2);
  await answered("web");
  await page.reload();
  await until("it is kept", async () => (await field.inputValue()) === "This is for web.");
  await answered("web");
  await field.fill("");
  await answered("api");

  await who.click();
  await page.getByRole("option", { name: "To web" }).click();
  await answered("web");
  await field.fill("This is for web.");
  await field.press("Control+Enter");
  await letterOf(page, "You to web").getByText("This is for web.").waitFor();
  await until("nothing is left", async () => (await field.inputValue()) === "");
});

test("what is written while something is sent is kept", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const { thread } = await house.send("api", "Hello.", "--wait=60");
  const { page } = await sign({ path: `/messages?thread=${thread}` });
  let release = () => {};
  const held = new Promise<void>((then) => {
    release = then;
  });
  await page.route("**/api/messages", async (route) => {
    if (route.request().method() === "POST") await held;
    await route.continue();
  });
  const field = page.getByRole("textbox", { name: "Answer api" });
  const send = page.getByRole("button", { name: "Answer", exact: true });
  const letter = letterOf(page, "You to api");
  await field.fill("First.");
  await send.click();
  await until("it is on its way", async () => (await send.getAttribute("aria-busy")) === "true");
  await field.fill("First.\nSecond.");
  release();
  await letter.getByText("First.", { exact: true }).waitFor();
  await until("the rest is left", async () => (await field.inputValue()) === "Second.");
  await send.click();
  await letter.getByText("Second.", { exact: true }).waitFor();
  await until("nothing is left", async () => (await field.inputValue()) === "");
  expect(await letter.count()).toBe(3);
});

test("a message is of the kind that was chosen, and interrupts its reader if that is wanted", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", THINKS);
  await house.send("api", "think", "--wait=60");
  await house.until("api", ({ phase }) => phase === "busy");
  const { page } = await sign({ path: "/messages?compose=new" });
  await page.getByRole("combobox", { name: "To" }).fill("api");
  await page.getByRole("textbox", { name: "Message" }).fill("Leave that.");
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: /^Task/ }).click();
  await page.getByRole("checkbox", { name: "Interrupt its reader" }).check();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const letter = letterOf(page, "You to api");
  await letter.getByText("Leave that.").waitFor();
  await letter.getByText("Task", { exact: true }).waitFor();
  await letter.getByText(/^Delivered after/).waitFor();
  const id = new URL(page.url()).searchParams.get("thread") ?? "";
  expect((await house.json<Message>("message", "show", id)).kind).toBe("task");
  await page.goto(house.address("/messages?compose=new"));
  await page.getByRole("checkbox", { name: "Interrupt its reader" }).waitFor();
  expect(await page.getByRole("checkbox", { name: "Interrupt its reader" }).isChecked()).toBe(
    false,
  );
});

test("the composer opens over what is open among the messages, and leaves it so", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const { thread } = await house.send("api", "Hello.", "--wait=60");
  const { page } = await sign({ path: `/messages?thread=${thread}&state=delivered` });
  const dialog = page.getByRole("dialog", { name: "Write a message" });
  const letter = letterOf(page, "You to api");
  await letter.getByText("Hello.").waitFor();
  for (const open of [
    () => choose(page, "write a message"),
    () => page.keyboard.press("c"),
    () => choose(page, "write to an", "api"),
  ]) {
    await open();
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await until("the address is as before", () => {
      const search = Object.fromEntries(new URL(page.url()).searchParams);
      return JSON.stringify(search) === JSON.stringify({ thread, state: "delivered" });
    });
    await letter.getByText("Hello.").waitFor();
  }
});

/** The messages in the open conversation that go this way, such as `You to api`. */
function letterOf(page: Page, way: string): Locator {
  return page.getByRole("article", { name: way });
}
