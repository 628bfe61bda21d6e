/** Who is let in, by what, and what is said to those who are not. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Sessions } from "../src/wire";
import type { House } from "./house";
import { test as base } from "./stage";
import { Visit } from "./visit";
import { until } from "./wait";

const test = base.extend<{
  /** Opens a browser that is not signed in, and that may be refused. */
  knock: () => Promise<Visit>;
}>({
  knock: async ({ browser, house, task }, use) => {
    const visits: Visit[] = [];
    await use(async () => {
      const visit = await Visit.stranger(browser, house);
      visit.allow(REFUSED);
      visits.push(visit);
      return visit;
    });
    for (const visit of visits) {
      if (task.result?.state === "fail") await visit.picture(`failed ${task.name}`);
      await visit.close();
    }
  },
});

/** What a browser itself says of an answer that does not let it in. */
const REFUSED = /^Failed to load resource: the server responded with a status of (401|410) /;

test("a link signs one browser in, once, and who follows it again puts that one out", async ({
  house,
  knock,
}) => {
  await house.project("shop");
  const link = await house.link();
  const [first, second] = [await knock(), await knock()];
  await first.page.goto(link);
  await first.page.getByRole("heading", { name: "Fleet" }).waitFor();
  await first.page.getByText("Live", { exact: true }).waitFor();
  expect(first.page.url()).toBe(house.address("/"));

  const answer = await second.page.goto(link);
  expect(answer?.status()).toBe(410);
  await second.page.getByRole("heading", { name: "This link does not work any more" }).waitFor();
  await second.page.getByText("Run cmux open again for a new one.").waitFor();
  expect(await second.page.context().cookies()).toEqual([]);
  await isOut(first.page);
  expect((await sessions(house)).length).toBe(0);

  await first.page.goto(await house.link());
  await first.page.getByText("Live", { exact: true }).waitFor();
});

test("a stranger is told what to do, and nothing else", async ({ house, knock }) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.send("api", "It is a secret.", "--wait=60");
  const { page } = await knock();
  const told: number[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/api/")) told.push(response.status());
  });
  for (const path of ["/", "/messages", `/agents/${api.id}`, "/inbox", "/activity"]) {
    await page.goto(house.address(path));
    await isOut(page);
    const html = await page.content();
    for (const secret of ["shop", "It is a secret."]) expect(html).not.toContain(secret);
  }
  expect(new Set(told)).toEqual(new Set([401]));
  const asked = await page.evaluate(async () => (await fetch("/api/status")).text());
  expect(asked).toContain("cmux open");
  expect(asked).not.toContain("shop");
  await page.getByRole("link", { name: "Use a password instead" }).click();
  await page.getByRole("heading", { name: "Log in to cmux" }).waitFor();
  await page.getByRole("textbox", { name: "Password" }).fill("a guess");
  await page.getByRole("button", { name: "Log in" }).click();
  await page
    .getByRole("status")
    .getByText(/not the password, or none is set/)
    .waitFor();
});

test("who signs out in the settings is out, and the other browser is not", async ({
  house,
  knock,
  sign,
}) => {
  await house.project("shop");
  const [leaves, stays] = [await knock(), await sign()];
  await leaves.page.goto(await house.link());
  await leaves.page.getByRole("link", { name: "Settings" }).click();
  await leaves.page.getByText("This one").waitFor();
  await leaves.page.getByRole("button", { name: "Sign out" }).first().click();
  await isOut(leaves.page);
  await leaves.page.reload();
  await isOut(leaves.page);
  await until("one is left", async () => (await sessions(house)).length === 1);
  await stays.page.getByText("Live", { exact: true }).waitFor();
});

test("a session that is closed at a terminal puts its open page out", async ({ house, knock }) => {
  await house.project("shop");
  const { page } = await knock();
  await page.goto(await house.link());
  await page.getByText("Live", { exact: true }).waitFor();
  const [session] = await sessions(house);
  await house.run(["session", "close", session?.id ?? ""]);
  await isOut(page);
  expect(await page.title()).toContain("Signed out");
  expect(await page.content()).not.toContain("shop");
});

test("a browser is signed out from the settings of another", async ({ house, knock, sign }) => {
  const [there, here] = [await knock(), await sign()];
  await there.page.goto(await house.link());
  await there.page.getByText("Live", { exact: true }).waitFor();
  await here.go("/settings");
  await here.page.getByText("This one").waitFor();
  await here.page.getByRole("main").getByRole("button", { name: "Sign out" }).last().click();
  await here.page.getByRole("alertdialog").getByRole("button", { name: "Sign out" }).click();
  await isOut(there.page);
  await until("its row goes", async () => (await sessions(house)).length === 1);
  await here.page.getByText("By a link of cmux open").waitFor();
});

test("the settings tell of a browser as it signs in, and as it is signed out elsewhere", async ({
  house,
  knock,
  sign,
}) => {
  const here = await sign({ path: "/settings" });
  const rows = here.page.getByText("By a link of cmux open");
  await until("it is listed itself", async () => (await rows.count()) === 1);
  const known = (await sessions(house)).map(({ id }) => id);
  const there = await knock();
  await there.page.goto(await house.link());
  await until("the other is listed, too", async () => (await rows.count()) === 2);
  await there.page.getByText("Live", { exact: true }).waitFor();
  const other = (await sessions(house)).find(({ id }) => !known.includes(id));
  await house.run(["session", "close", other?.id ?? ""]);
  await isOut(there.page);
  await until("its row goes", async () => (await rows.count()) === 1);
  await here.page.getByText("This one").waitFor();
});

test("a tab that was put out goes on where it was, once its browser is let in again", async ({
  house,
  knock,
}) => {
  await house.project("shop");
  const { page } = await knock();
  await page.goto(await house.link());
  await page.goto(house.address("/activity?kind=project."));
  await page.getByText("Live", { exact: true }).waitFor();
  const [session] = await sessions(house);
  await house.run(["session", "close", session?.id ?? ""]);
  await isOut(page);
  await looks(page);
  await isOut(page);
  const other = await page.context().newPage();
  await other.goto(await house.link());
  await other.getByText("Live", { exact: true }).waitFor();
  await looks(page);
  await page.getByText("project.added").first().waitFor();
  expect(page.url()).toBe(house.address("/activity?kind=project."));
});

test("who follows a shared link and knows the password comes to what was shared", async ({
  house,
  knock,
}) => {
  await house.project("shop");
  const password = "as long as it takes";
  const set = await house.run(["password", "set"], `${password}\n`);
  expect(set.stderr).toBe("");
  const shared = house.address("/activity?kind=project.");
  const { page } = await knock();
  const lets = async () => {
    await page.getByRole("textbox", { name: "Password" }).fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
  };
  await page.goto(shared);
  await isOut(page);
  await page.getByRole("link", { name: "Use a password instead" }).click();
  await lets();
  await page.getByText("project.added").first().waitFor();
  expect(page.url()).toBe(shared);
  for (const hostile of [
    "//elsewhere.example/",
    "/\\elsewhere.example",
    "https://elsewhere.example",
  ]) {
    await page.goto(house.address(`/login?next=${encodeURIComponent(hostile)}`));
    await lets();
    expect(page.url()).toBe(house.address("/"));
  }
});

/** Has the person come back to a tab. */
function looks(page: Page): Promise<unknown> {
  const answered = page.waitForResponse("**/api/whoami");
  return Promise.all([
    answered,
    page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))),
  ]);
}

/** Waits until a page says that it is out, and what to do. */
async function isOut(page: Page): Promise<void> {
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  await page.getByText("cmux open", { exact: true }).waitFor();
}

async function sessions(house: House): Promise<Sessions["sessions"]> {
  return (await house.json<Sessions>("session", "list")).sessions;
}
