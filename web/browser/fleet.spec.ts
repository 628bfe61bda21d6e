/** The fleet: who there is, who needs a person, and what a person does to them. */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { choose } from "./palette";
import { test } from "./stage";
import { until } from "./wait";

const ASKS = {
  rules: [{ steps: [{ write: { path: "made.txt", text: "x", ask: true } }] }],
};

test("without a project it says what to do, and shows one as soon as it is there", async ({
  house,
  sign,
}) => {
  const { page } = await sign();
  await page.getByRole("heading", { name: "No project yet" }).waitFor();
  await page.getByText("cmux up", { exact: true }).first().waitFor();
  await house.project("shop");
  await page.getByRole("navigation").getByRole("link", { name: "shop" }).waitFor();
  await page.getByText("No agents here.").waitFor();
});

test("whoever spawns without a project is told what to do first, and goes on once there is one", async ({
  house,
  sign,
}) => {
  const { page } = await sign();
  await page.getByRole("heading", { name: "No project yet" }).waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "Spawn an agent" });
  await dialog.getByText("cmux up", { exact: true }).waitFor();
  expect(await dialog.getByRole("button", { name: "Spawn" }).count()).toBe(0);
  await house.project("shop");
  await until("it is chosen", async () => (await projectIn(dialog).textContent()) === "shop");
});

test("the palette spawns in the project that one is at", async ({ house, sign }) => {
  const [coast, shop] = [await house.project("coast"), await house.project("shop")];
  const api = await house.agent(shop, "api");
  const { page } = await sign({ path: `/projects/${shop}` });
  const dialog = page.getByRole("dialog", { name: "Spawn an agent" });
  const spawns = async (project: string) => {
    await choose(page, "spawn an agent");
    await until(`${project} is chosen`, async () => {
      return (await projectIn(dialog).textContent()) === project;
    });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  await spawns("shop");
  expect(new URL(page.url()).pathname).toBe(`/projects/${shop}`);
  await page.getByRole("navigation").getByRole("link", { name: "coast" }).click();
  await page.waitForURL(`**/projects/${coast}`);
  await spawns("coast");
  await page.goto(house.address(`/agents/${api.id}?tab=facts`));
  await spawns("shop");
});

test("agents are found by what is said of them", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "aaa");
  const paused = await house.agent(shop, "mmm");
  await house.agent(shop, "zzz", ASKS);
  await house.json("agent", "pause", paused.id);
  await house.send("zzz", "write it");
  const { page } = await sign();
  const names = page.getByRole("list", { name: "Agents" }).locator("[data-row]");
  for (const [words, found] of [
    ["needs you", "zzz"],
    ["asking", "zzz"],
    ["paused", "mmm"],
    ["idle", "aaa,mmm"],
  ] as const) {
    await page.getByRole("searchbox", { name: "Find an agent" }).fill(words);
    await until(`${words} finds ${found}`, async () => {
      return (await names.allTextContents()).join() === found;
    });
  }
});

test("an agent is spawned, paused, resumed, restarted, stopped and forgotten", async ({
  house,
  sign,
}) => {
  await house.project("shop");
  const { page } = await sign();
  await page.getByRole("button", { name: "Spawn an agent" }).click();
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: /^Demo/ }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("api");
  await page.getByRole("dialog").getByRole("button", { name: "Spawn" }).click();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "api" }) });
  await row.getByText("Idle").waitFor();
  const first = await house.look("api");

  const choose = async (what: string) => {
    await row.getByRole("button", { name: "What to do with api" }).click();
    await page.getByRole("menuitem", { name: what }).click();
  };
  await choose("Pause");
  await row.getByText("Paused · idle").waitFor();
  await choose("Resume");
  await row.getByText("Idle", { exact: true }).waitFor();

  await choose("Restart");
  const question = page.getByRole("alertdialog");
  await question.getByRole("button", { name: "Restart" }).click();
  await house.until("api", (agent) => agent.run !== first.run && agent.phase === "idle");
  await row.getByText("Idle", { exact: true }).waitFor();

  await choose("Stop");
  await question.getByRole("button", { name: "Cancel" }).click();
  expect((await house.look("api")).intent).toBe("run");
  await choose("Stop");
  await question.getByRole("button", { name: "Stop" }).click();
  await row.getByText("Stopped").waitFor();
  await choose("Forget");
  await question.getByRole("button", { name: "Forget" }).click();
  await row.waitFor({ state: "detached" });
  await until("it is forgotten", async () => (await house.status()).agents.length === 0);
});

test("an agent that was forgotten is not asked for again, whatever the log has still to tell of it", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const { id } = await house.agent(shop, "api");
  await house.json("agent", "stop", id);
  const { page } = await sign();
  let isHeld = false;
  const held: (string | Buffer)[] = [];
  let release = () => {};
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    socket.connectToServer().onMessage((said) => {
      if (isHeld) held.push(said);
      else socket.send(said);
    });
    release = () => {
      isHeld = false;
      for (const said of held.splice(0)) socket.send(said);
    };
  });
  await page.reload();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "api" }) });
  await row.getByText("Stopped").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();

  isHeld = true;
  await house.json("agent", "restart", id);
  await house.until("api", (agent) => agent.phase === "idle");
  await house.json("agent", "stop", id);
  await row.getByRole("button", { name: "What to do with api" }).click();
  await page.getByRole("menuitem", { name: "Forget" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Forget" }).click();
  await row.waitFor({ state: "detached" });
  const isTold = () => held.some((said) => said.toString().includes("agent.removed"));
  await until("the log has told of it", isTold);
  release();
  await house.agent(shop, "next");
  await page.getByRole("link", { name: "next" }).waitFor();
  expect(await row.count()).toBe(0);
});

test("who asks is first, and counted where it is seen from another tab", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "aaa");
  await house.agent(shop, "zzz", ASKS);
  const { page } = await sign();
  await page.getByRole("link", { name: "aaa" }).waitFor();
  expect(await page.title()).toBe("Fleet · cmux");
  await house.send("zzz", "write it");
  await page.getByRole("heading", { name: /^Needs you/ }).waitFor();
  const names = page
    .getByRole("list", { name: "Agents" })
    .getByRole("link")
    .filter({ hasText: /^(aaa|zzz)$/ });
  expect(await names.allTextContents()).toEqual(["zzz", "aaa"]);
  await until("the title counts it", async () => (await page.title()).startsWith("(1) "));
});

const ASKS_BY_MAIL = {
  rules: [
    {
      steps: [
        { tool: { name: "Bash", input: { command: "cmux report question 'Which?'" }, ask: false } },
      ],
    },
  ],
};

test("a row says what its agent waits for, since when, and how much mail waits for it", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", ASKS);
  await house.send("api", "write it");
  await house.until("api", ({ phase }) => phase === "asking");
  for (const text of ["one", "two"]) await house.send("api", text);
  const { page } = await sign();
  const row = rowOf(page, "api");
  await row.getByText("Needs you", { exact: true }).waitFor();
  await row.getByText("Wants a permission: answer in its terminal").waitFor();
  await row.getByText("2 messages waiting").waitFor();
  const { since } = await house.look("api");
  const age = row.locator("time");
  expect(await age.getAttribute("datetime")).toBe(since);
  await until("its age goes on", async () => /^\d+[smh]/.test((await age.textContent()) ?? ""));
  const before = await age.textContent();
  await until("it is older", async () => (await age.textContent()) !== before);
});

test("a question that comes moves nothing", async ({ house, sign }) => {
  const shop = await house.project("shop");
  for (const name of ["api", "web"]) await house.agent(shop, name, ASKS_BY_MAIL);
  for (const wanted of [{}, { phone: true }]) {
    const { page } = await sign(wanted);
    const asked = page.getByRole("link", { name: /^\d questions? in your inbox$/ });
    await rowOf(page, "web").waitFor();
    const said = (await asked.count()) === 0 ? "" : await asked.textContent();
    const before = await places(page);
    await house.send("api", "ask", "--wait=60");
    await until("it has come", async () => {
      return (await asked.count()) > 0 && (await asked.textContent()) !== said;
    });
    await house.until("api", ({ phase }) => phase === "idle");
    expect(await places(page)).toEqual(before);
  }
});

test("no row leaves its place while one is pointed at or has the focus", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "aaa");
  await house.agent(shop, "mmm", ASKS);
  await house.agent(shop, "zzz", ASKS);
  const { page } = await sign();
  const names = page.getByRole("list", { name: "Agents" }).locator("[data-row]");
  await rowOf(page, "zzz").hover();
  const before = await places(page);
  await house.send("zzz", "write it");
  await rowOf(page, "zzz").getByText("Needs you", { exact: true }).waitFor();
  await page.getByText("1 agent needs you").waitFor();
  expect(await places(page)).toEqual(before);
  await page.getByRole("heading", { name: "Fleet" }).hover();
  await page.getByRole("heading", { name: /^Needs you/ }).waitFor();
  expect(await names.allTextContents()).toEqual(["zzz", "aaa", "mmm"]);

  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const then = await places(page);
  await house.send("mmm", "write it");
  await page.getByText("2 agents need you").waitFor();
  expect(await places(page)).toEqual(then);
  await names.first().evaluate(() => (document.activeElement as HTMLElement).blur());
  await until("they are first", async () => {
    return (await names.allTextContents()).join() === "mmm,zzz,aaa";
  });
});

test("several are chosen and paused together, by keys and by pointer", async ({ house, sign }) => {
  const shop = await house.project("shop");
  for (const name of ["api", "app", "web"]) await house.agent(shop, name);
  const { page } = await sign();
  await rowOf(page, "web").waitFor();
  const before = await places(page);
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByText("2 chosen", { exact: true }).waitFor();
  expect(await places(page)).toEqual(before);
  await page.keyboard.press("p");
  await house.until("api", ({ intent }) => intent === "pause");
  await house.until("app", ({ intent }) => intent === "pause");
  await page.getByText("Pause: 2 agents").waitFor();
  expect((await house.look("web")).intent).toBe("run");
  await page.keyboard.press("Escape");
  await page.getByText("Nobody needs you").waitFor();

  await page.getByRole("checkbox", { name: "Choose api" }).check();
  await page.getByRole("checkbox", { name: "Choose web" }).click({ modifiers: ["Shift"] });
  await page.getByText("3 chosen", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop those chosen" }).click();
  const question = page.getByRole("alertdialog", { name: "Stop 3 agents?" });
  await question.getByText("api, app, web").waitFor();
  await question.getByRole("button", { name: "Stop" }).click();
  for (const name of ["api", "app", "web"]) {
    await house.until(name, ({ intent, phase }) => intent === "stop" && phase === "offline");
  }
  await page.getByRole("button", { name: "Choose nobody" }).click();

  await rowOf(page, "web").hover();
  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "Resume" }).click();
  await house.until("web", ({ intent }) => intent === "run");
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const label of ["Pause or resume", "Stop", "Next agent"]) {
    await sheet.getByText(label, { exact: true }).waitFor();
  }
});

/** The project in which an agent is about to be spawned. */
function projectIn(dialog: Locator): Locator {
  return dialog.getByRole("combobox", { name: "Project" });
}

/** The row of an agent. */
function rowOf(page: Page, name: string): Locator {
  const link = page.getByRole("link", { name, exact: true });
  return page.getByRole("list", { name: "Agents" }).getByRole("listitem").filter({ has: link });
}

/** Returns where each agent's name is. */
function places(page: Page): Promise<string[]> {
  return page.locator("[data-row]").evaluateAll((rows) =>
    rows.map((row) => {
      const { x, y } = row.getBoundingClientRect();
      return `${row.textContent} ${x} ${y}`;
    }),
  );
}

test("an agent that is killed is seen to go and to come back", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const before = await house.agent(shop, "api");
  const { page } = await sign();
  await page.getByRole("link", { name: "api" }).click();
  await page.getByText("Idle", { exact: true }).waitFor();
  process.kill(before.pid as number, "SIGKILL");
  await page.getByText("Down", { exact: true }).waitFor();
  await page.getByText("Idle", { exact: true }).waitFor();
  const after = await house.until(
    "api",
    (agent) => agent.phase === "idle" && agent.run !== before.run,
  );
  await page.getByRole("tab", { name: "Facts" }).click();
  await page.getByText(String(after.pid), { exact: true }).waitFor();
});
