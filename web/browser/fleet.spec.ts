/** The fleet: who there is, who needs a person, and what a person does to them. */

import { expect } from "vitest";
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
