/** The person's inbox: what was sent to them, what they have read of it, and what they answer. */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Message, Messages } from "../src/wire";
import type { House, Script } from "./house";
import { choose } from "./palette";
import { test } from "./stage";
import { until } from "./wait";

/** More messages than are told at once. */
const MORE_THAN_A_PAGE = 120;

/** Asks, tells, or thanks for an answer, whichever it is told. */
const SPEAKS: Script = {
  rules: [
    {
      when: { contains: "ask" },
      steps: [bash("cmux report question 'Which **port** is it?'")],
    },
    { when: { contains: "tell" }, steps: [bash("cmux send user 'All is well.'")] },
    {
      when: { contains: "8080" },
      steps: [
        bash("cmux reply $(cmux inbox --json | grep -o 'msg_[0-9A-Z]*' | head -1) 'Thank you.'"),
      ],
    },
  ],
};

test("a question is first and counted until it is answered, though it is read by opening it", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", SPEAKS);
  const { page } = await sign({ path: "/inbox" });
  await page.getByRole("heading", { name: "Nothing for you yet" }).waitFor();
  await tell(house, "ask");
  await row(page, "Which port is it?").waitFor();
  await tell(house, "tell");
  await row(page, "All is well.").waitFor();

  expect(await lines(page)).toEqual([
    "Questions for you 1",
    "api to You : Which port is it?",
    "Unread 1",
    "api to You : All is well.",
  ]);
  await rail(page, "Inbox 2 unread").waitFor();
  await page.getByRole("main").getByText("2 unread", { exact: true }).waitFor();
  await until("the title counts it", async () => (await page.title()) === "(1) Inbox · cmux");
  expect(await unread(house)).toEqual(["All is well.", "Which **port** is it?"]);

  await row(page, "Which port is it?").click();
  const question = page.getByRole("article", { name: "api to You" }).first();
  await question.getByText("Question", { exact: true }).waitFor();
  await question.getByText(/^In your inbox, read \d/).waitFor();
  await rail(page, "Inbox 1 unread").waitFor();
  expect(await unread(house)).toEqual(["All is well."]);
  // What was read and not answered is asked still.
  for (const isAgain of [false, true]) {
    if (isAgain) await page.reload();
    await row(page, "Which port is it?").waitFor();
    await until("it is asked", async () => (await lines(page))[0] === "Questions for you 1");
    expect((await lines(page))[1]).toBe("api to You : Which port is it?");
    await until("the title counts it", async () => (await page.title()) === "(1) Inbox · cmux");
  }

  await page.keyboard.press("r");
  const field = page.getByRole("textbox", { name: "Answer api" });
  await until("the answer has the keys", () =>
    field.evaluate((it) => it === document.activeElement),
  );
  await page.keyboard.type("It is 8080.");
  await page.keyboard.press("Control+Enter");
  const answer = page.getByRole("article", { name: "You to api" });
  await answer.getByText("It is 8080.").waitFor();
  await until("the title counts nothing", async () => (await page.title()) === "Inbox · cmux");
  // It stays in its place under the eyes of whoever answers it.
  expect((await lines(page))[0]).toBe("Questions for you");
  await answer.getByText("Delivered", { exact: true }).first().waitFor();
  await page.getByRole("article", { name: "api to You" }).getByText("Thank you.").waitFor();
  expect(await field.inputValue()).toBe("");
  // What comes into a conversation that is looked at is read.
  await until("the thanks are read", async () => (await unread(house)).join() === "All is well.");
});

test("what one browser has read is read in the other", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", SPEAKS);
  await tell(house, "tell");
  await until("it is there", async () => (await unread(house)).length === 1);
  const [here, there] = [await sign({ path: "/inbox" }), await sign({ path: "/inbox" })];
  await rail(there.page, "Inbox 1 unread").waitFor();
  await row(here.page, "All is well.").waitFor();
  await here.page.getByRole("button", { name: "Mark all read" }).click();
  await here.page.getByText("1 message marked as read").waitFor();
  await here.page.getByText("All read", { exact: true }).waitFor();
  await rail(there.page, "Inbox").waitFor();
  expect(await unread(house)).toEqual([]);
  for (const { page } of [here, there]) {
    await until("it is with what is read", async () => (await lines(page))[0] === "Read 1");
  }
});

test("all is marked as read from any page, for as long as anything is unread", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", SPEAKS);
  const { page } = await sign();
  await tell(house, "tell");
  await rail(page, "Inbox 1 unread").waitFor();
  await choose(page, "mark all mail");
  await page.getByText("1 message marked as read").waitFor();
  await rail(page, "Inbox").waitFor();
  expect(await unread(house)).toEqual([]);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Do anything" }).fill("mail");
  await page.getByRole("option", { name: "Write a message" }).waitFor();
  expect(await page.getByRole("option", { name: "Mark all mail as read" }).count()).toBe(0);
});

test("mail is read where all mail is, too, and a question is settled by its answer there", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", SPEAKS);
  const { page } = await sign();
  await tell(house, "ask");
  const asked = page.getByRole("link", { name: "1 question in your inbox" });
  await asked.waitFor();
  await rail(page, "Messages").click();
  await row(page, "Which port is it?").click();
  await page.getByText(/^In your inbox, read \d/).waitFor();
  await rail(page, "Inbox").waitFor();
  expect(await unread(house)).toEqual([]);
  await until("the title counts it", async () => (await page.title()) === "(1) Messages · cmux");
  await page.getByRole("textbox", { name: "Answer api" }).fill("It is 8080.");
  await page.getByRole("button", { name: "Answer" }).click();
  await until("the title counts nothing", async () => (await page.title()) === "Messages · cmux");
  await rail(page, "Fleet").click();
  await page.getByRole("link", { name: "api", exact: true }).waitFor();
  expect(await asked.count()).toBe(0);
});

test("a question is first however much was sent after it", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", SPEAKS);
  await tell(house, "ask");
  await until("it is there", async () => (await unread(house)).length === 1);
  for (let n = 0; n < MORE_THAN_A_PAGE; n += 1) {
    const body = `Report ${n}`;
    await house.ask<Message>("POST", "/api/messages", { to: "user", project: shop, body });
  }
  const { page } = await sign({ path: "/inbox" });
  await until("the title counts it", async () => (await page.title()) === "(1) Inbox · cmux");
  await row(page, "Which port is it?").waitFor();
  expect((await lines(page))[0]).toBe("Questions for you 1");
  await page.getByRole("button", { name: "Mark all read" }).click();
  await page.getByText(/^\d+ messages marked as read$/).waitFor();
  await page.reload();
  await row(page, "Which port is it?").waitFor();
  expect((await lines(page))[0]).toBe("Questions for you 1");
  await until("the title counts it", async () => (await page.title()) === "(1) Inbox · cmux");
});

/** A step that runs a command, for which nobody is asked. */
function bash(command: string): Record<string, unknown> {
  return { tool: { name: "Bash", input: { command }, ask: false } };
}

/** Has the agent do what its script says about that. */
function tell(house: House, what: string): Promise<Message> {
  return house.send("api", what);
}

/** Returns the mail of the person, and leaves it unread. */
function inbox(house: House): Promise<Messages> {
  return house.json<Messages>("inbox", "--keep");
}

/** Returns what the person has not read, the newest first. */
async function unread(house: House): Promise<string[]> {
  const { messages } = await inbox(house);
  return messages.filter(({ read_at }) => read_at === null).map(({ body }) => body);
}

function list(page: Page): Locator {
  return page.getByRole("list", { name: "Conversations" });
}

function row(page: Page, text: string): Locator {
  return list(page).getByRole("link", { name: text });
}

/** Returns what is listed, headings too, from the top and as it is read aloud. */
async function lines(page: Page): Promise<string[]> {
  const found = list(page).getByRole("heading").or(list(page).getByRole("link"));
  const placed = await found.evaluateAll((all) =>
    all.map((one) => ({
      top: one.getBoundingClientRect().top,
      text: [...one.childNodes].map((node) => node.textContent).join(" "),
    })),
  );
  return placed.sort((one, other) => one.top - other.top).map(({ text }) => text);
}

/** A place in the rail, with what is counted there. */
function rail(page: Page, name: string): Locator {
  return page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true });
}
