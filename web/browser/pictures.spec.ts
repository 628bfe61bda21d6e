/**
 * Pictures of each view, light and dark, on a desktop and on a phone. They are left to be looked at, and with
 * `CMUX_RECORD=1` they are those of the user guide.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Message, Vitals } from "../src/wire";
import type { House } from "./house";
import { reduced } from "./png";
import { open, test, viewsOf } from "./team";
import type { Visit } from "./visit";
import { until } from "./wait";

/** Where the user guide has them. */
const GUIDE = "../docs/pictures";

/** The views that are pictured, each with what else must be on it. */
const PICTURED: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  fleet: async (page) => {
    const list = page.getByRole("list", { name: "Agents" });
    for (const phase of ["Needs you", "Idle", "Busy", "Limited", "Stopped", "Paused · idle"]) {
      await list.getByText(phase, { exact: true }).first().waitFor();
    }
    await page.getByRole("link", { name: "1 question in your inbox" }).waitFor();
  },
  terminal: async (page) => {
    await page.getByText("Wants a permission: answer in its terminal").waitFor();
    await page.getByText("Live. It takes no keys.").waitFor();
  },
  conversation: async (page) => {
    await page.getByRole("button", { name: /^Bash .+ failed$/ }).waitFor();
    await page.getByRole("checkbox", { name: "Done" }).waitFor();
    await page.getByRole("link", { name: "From you" }).waitFor();
  },
  thread: async (page) => {
    await page.getByRole("cell", { name: "22,528" }).waitFor();
    const journey = page.getByRole("list", { name: "Its journey" });
    for (const step of ["Queued", "Typing", "Delivered"]) await journey.getByText(step).waitFor();
  },
  activity: async (page) => {
    const rows = page.getByRole("list", { name: "Events" }).getByRole("button");
    await rows.filter({ hasText: "message.delivered" }).first().waitFor();
    expect(await rows.count()).toBeGreaterThan(10);
  },
  health: async (page) => {
    const parts = page.getByRole("listitem").filter({ hasText: "Healthy" });
    await until("every part is healthy", async () => (await parts.count()) === 6);
  },
};

for (const { where, wanted, end } of [
  // What is opened in the inbox was read then: whoever opens nothing there is first.
  { where: "on a phone", wanted: { phone: true }, end: "-phone" },
  { where: "on a desktop", wanted: {}, end: "" },
]) {
  test(`each view has what it should ${where}, light and dark`, async ({ house, sign, team }) => {
    await lives(house);
    const visit = await sign(wanted);
    for (const view of viewsOf(team)) {
      const isThere = PICTURED[view.name];
      if (isThere === undefined) continue;
      await open(visit, view);
      await isThere(visit.page);
      await picture(visit, `${view.name}${end}`);
    }
    await palette(visit);
    await picture(visit, `palette${end}`);
    await (end !== "" ? inbox(visit) : question(visit, house));
    await picture(visit, `inbox${end}`);
  });
}

/** Waits until the daemon has lived for a while, so that there is something to plot. */
async function lives(house: House): Promise<void> {
  const headers = { authorization: `Bearer ${await house.token()}` };
  await until("there are samples to plot", async () => {
    const answer = await fetch(house.address("/api/vitals"), { headers });
    return ((await answer.json()) as Vitals).samples.length >= 6;
  });
}

/** Opens the palette over the fleet. */
async function palette(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.go("/");
  await page.getByRole("link", { name: "tiles" }).waitFor();
  await page.keyboard.press("Control+k");
  for (const name of ["Fleet", "Project atlas", "Watch the terminal of…"]) {
    await page.getByRole("option", { name }).waitFor();
  }
}

/** Opens the inbox, and nothing in it. */
async function inbox(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.go("/inbox");
  for (const name of [/^Questions for you/, /^Unread/]) {
    await page.getByRole("heading", { name }).waitFor();
  }
  await page
    .getByText(/May guests pay by invoice/)
    .last()
    .waitFor();
}

/** Opens the question in the inbox, which is read then. */
async function question(visit: Visit, house: House): Promise<void> {
  const { page } = visit;
  await inbox(visit);
  await page.getByRole("link", { name: /May guests pay by invoice/ }).click();
  const conversation = page.getByRole("region", { name: "Conversation" });
  await conversation.getByRole("article", { name: "api to You" }).waitFor();
  await conversation.getByRole("textbox", { name: "Answer api" }).waitFor();
  await conversation.getByText(/^In your inbox, read/).waitFor();
  await until("it is read", async () => {
    const { messages } = await house.json<{ messages: Message[] }>("inbox", "--keep");
    return messages.every(({ kind, read_at }) => kind !== "question" || read_at !== null);
  });
}

/** Leaves a picture of the page in each shade, once no part of it is still to come. */
async function picture(visit: Visit, name: string): Promise<void> {
  const { page } = visit;
  await until("all is there", async () => (await page.locator(".skeleton").count()) === 0);
  for (const [shade, end] of [
    ["light", ""],
    ["dark", "-dark"],
  ] as const) {
    await page.emulateMedia({ colorScheme: shade });
    await until(`it is ${shade}`, () =>
      page.evaluate((wanted) => document.documentElement.dataset["theme"] === wanted, shade),
    );
    await visit.picture(`${name}${end}`);
    if (process.env["CMUX_RECORD"] === "1") {
      mkdirSync(GUIDE, { recursive: true });
      writeFileSync(join(GUIDE, `${name}${end}.png`), reduced(await page.screenshot()));
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
}
