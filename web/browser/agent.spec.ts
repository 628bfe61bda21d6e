/** One agent: its terminal, whose keyboard is taken on purpose, its conversation, its events, its facts. */

import { expect } from "vitest";
import type { Conversation } from "../src/wire";
import { screen, shows } from "./screen";
import { test } from "./stage";
import { until } from "./wait";

test("the terminal is live, takes no key unless that is wanted, and gives the keyboard back", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, 'Try "explain this folder"');
  await page.getByRole("region", { name: "Terminal of api" }).click();
  await page.keyboard.type("zzz not for you");

  await page.getByRole("button", { name: "Take keyboard" }).click();
  await page.getByText("Your keys go to api").waitFor();
  await page.keyboard.type("hello from the page");
  await shows(page, "> hello from the page");
  expect(await screen(page)).not.toContain("zzz");
  await page.keyboard.press("Enter");
  await shows(page, "echo: hello from the page");

  await page.keyboard.press("Control+]");
  await page.getByText("Live. It takes no keys.").waitFor();
  await page.keyboard.type("zzz not for you");
  await house.send("api", "a message after that", "--wait=60");
  await shows(page, "echo: [cmux dlv_");
  expect(await screen(page)).not.toContain("zzz");
});

test("what has scrolled off the terminal can be scrolled back to", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const long = { rules: [{ steps: [{ stream: { lines: 150, every_ms: 1 } }] }] };
  const agent = await house.agent(shop, "api", long);
  await house.send("api", "the very first line", "--wait=60");
  await house.until("api", ({ phase }) => phase === "idle");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, "line 150");
  expect(await screen(page)).not.toContain("the very first line");
  await page.getByRole("region", { name: "Terminal of api" }).focus();
  await page.keyboard.press("Home");
  await shows(page, "the very first line");
  await page.keyboard.press("End");
  await shows(page, "line 150");
});

test("an agent that has no terminal says so, and shows it when it has one again", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const { page } = await sign({ path: `/agents/${agent.id}` });
  await shows(page, "accept edits on");
  await house.json("agent", "stop", agent.id);
  await page.getByRole("heading", { name: "No terminal now" }).waitFor();
  await page.getByRole("button", { name: "Resume api" }).click();
  await shows(page, "accept edits on");
  await page.getByText("Idle", { exact: true }).waitFor();
});

test("the conversation has what was said as Markdown, and tools with what they were asked", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const steps = [
    { say: "I look around **first**.\n\n```sh\nls\n```" },
    { tool: { name: "Bash", input: { command: "echo found-$((40+2))" }, ask: false } },
    { say: "That is all." },
  ];
  const agent = await house.agent(shop, "api", { rules: [{ steps }] });
  const { page } = await sign({ path: `/agents/${agent.id}?tab=conversation` });
  await page.getByRole("heading", { name: "Nothing was said yet" }).waitFor();
  const sent = await house.send("api", "what is here?");
  const talk = page.getByRole("log", { name: "Conversation of api" });
  await talk.getByText("That is all.").waitFor();
  expect(await talk.locator("strong").textContent()).toBe("first");
  expect(await talk.locator("pre code").first().textContent()).toBe("ls\n");
  const call = talk.getByRole("button", { name: /Bash/ });
  await call.getByText("ok").waitFor();
  expect(await talk.getByText("found-42").count()).toBe(0);
  await call.click();
  await talk.getByText("found-42").waitFor();
  await talk.getByRole("link", { name: "From you" }).click();
  await page.waitForURL(`**/messages?**thread=${sent.thread}**`);
});

test("what was said before is shown when it is asked for, and the newest is a press away", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const steps = Array.from({ length: 80 }, (_, at) => ({ say: `Line ${at} of many.` }));
  const agent = await house.agent(shop, "api", { rules: [{ steps }] });
  await house.send("api", "go on", "--wait=60");
  await until("all is said", async () => {
    const path = `/api/agents/${agent.id}/conversation?limit=5`;
    return JSON.stringify(await house.ask<Conversation>("GET", path)).includes("Line 79 of many.");
  });
  const { page } = await sign({ path: `/agents/${agent.id}?tab=conversation` });
  const talk = page.getByRole("log", { name: "Conversation of api" });
  const line = (at: number) => talk.getByText(`Line ${at} of many.`, { exact: true });
  await line(79).waitFor();
  expect(await line(0).count()).toBe(0);
  // A pointer would scroll there first, and then it is asked for without being pressed.
  await talk.getByRole("button", { name: "Show what was before" }).dispatchEvent("click");
  await line(0).waitFor({ state: "attached" });
  await talk.getByText("This is where it began.").waitFor({ state: "attached" });
  await line(0).scrollIntoViewIfNeeded();
  await page.getByRole("button", { name: "To the newest" }).click();
  await until("the newest is in sight", () =>
    line(79).evaluate((it) => it.getBoundingClientRect().bottom <= window.innerHeight),
  );
});

test("what an agent asks is said in its own words, without its terminal", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const script = { rules: [{ steps: [{ write: { path: "x", text: "y", ask: true } }] }] };
  const agent = await house.agent(shop, "api", script);
  const { page } = await sign({ path: `/agents/${agent.id}?tab=conversation` });
  await page.getByText("Idle", { exact: true }).waitFor();
  await house.send("api", "write it");
  await until("it is said", async () => (await page.locator("q").textContent()) !== "");
});

test("its events come by themselves, and one that is opened says all", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const { page } = await sign({ path: `/agents/${agent.id}?tab=events` });
  await page.getByText("agent.spawned").waitFor();
  expect(await page.getByText("message.delivered").count()).toBe(0);
  const sent = await house.send("api", "hello");
  const row = page.getByRole("button", { name: /message\.delivered/ });
  await row.click();
  await page.getByText(`"message": "${sent.id}"`).waitFor();
});

test("its facts say why it is as it is, and follow it", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const script = { rules: [{ steps: [{ write: { path: "x", text: "y", ask: true } }] }] };
  const agent = await house.agent(shop, "api", script);
  const { page } = await sign({ path: `/agents/${agent.id}?tab=facts` });
  await page.getByRole("heading", { name: "Why it is idle" }).waitFor();
  for (const fact of [agent.id, String(agent.pid), agent.session_id, agent.run, agent.cwd]) {
    await page.getByText(String(fact), { exact: true }).waitFor();
  }
  await house.send("api", "write it");
  await page.getByRole("heading", { name: "Why it needs you" }).waitFor();
  await page.getByText("believed", { exact: true }).waitFor();
});

test("what an agent does now is stopped by a button and from its menu", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const steps = [{ say: "I think about it." }, { think_ms: 3_600_000 }];
  const agent = await house.agent(shop, "api", { rules: [{ steps }] });
  const { page } = await sign({ path: `/agents/${agent.id}?tab=conversation` });
  const button = page.getByRole("button", { name: "Interrupt", exact: true });
  const interrupts = [
    () => button.click(),
    async () => {
      await page.getByRole("button", { name: "What can be done to api" }).click();
      await page.getByRole("menuitem", { name: "Interrupt" }).click();
    },
  ];
  for (const interrupt of interrupts) {
    expect(await button.count()).toBe(0);
    await house.send("api", "think about it", "--wait=60");
    await page.getByText("Busy", { exact: true }).waitFor();
    await interrupt();
    await page.getByText("api is being interrupted").waitFor();
    await house.until("api", ({ phase }) => phase === "idle");
    await page.getByText("Idle", { exact: true }).waitFor();
    await page.getByText("api is being interrupted").waitFor({ state: "detached" });
  }
});
