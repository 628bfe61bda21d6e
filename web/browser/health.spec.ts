/** Health: the parts and their state, what ended, and the last hour as plots. */

import { expect } from "vitest";
import { test } from "./stage";
import { until } from "./wait";

const PLOTS = ["Delivery time", "Messages waiting", "Oldest waiting", "Memory of cmux"];

test("every part says that it is healthy, and the plots are drawn", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  await house.send("api", "hello", "--wait=60");
  const { page } = await sign({ path: "/health" });
  for (const part of ["API", "Pages", "Store", "tmux", "Router", "Kernel"]) {
    const row = page.getByRole("listitem").filter({ hasText: new RegExp(`^${part} `) });
    await row.getByText("Healthy").waitFor();
  }
  for (const plot of PLOTS) await page.getByRole("heading", { name: plot }).waitFor();
  const canvases = page.locator("canvas");
  await until("all are drawn", async () => (await canvases.count()) >= PLOTS.length);
  const isDrawn = (canvas: SVGElement | HTMLElement) => {
    const drawn = canvas as HTMLCanvasElement;
    const pixels = drawn.getContext("2d")?.getImageData(0, 0, drawn.width, drawn.height).data;
    return pixels?.some((value) => value !== 0) ?? false;
  };
  for (const canvas of await canvases.all()) expect(await canvas.evaluate(isDrawn)).toBe(true);
});

test("safe mode is said on every page, and what is wrong is marked at the way to health", async ({
  house,
  sign,
}) => {
  await house.project("shop");
  const visit = await sign();
  const { page } = visit;
  const marked = page.getByRole("navigation").getByRole("link", { name: "Health degraded" });
  const said = page.getByRole("alert").getByText("nothing but reading is possible");
  await page.getByText("No agents here.").waitFor();
  expect(await marked.count()).toBe(0);
  await visit.outage();
  await visit.back(() => house.start("it was tried"));
  await said.waitFor();
  await page.getByRole("alert").getByText("it was tried").waitFor();
  await marked.waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await said.waitFor();
  await visit.outage();
  await visit.back();
  await said.waitFor({ state: "detached" });
  await marked.waitFor({ state: "detached" });
});

test("an agent that ends, and a daemon that is killed, are told of as it happens", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const agent = await house.agent(shop, "api");
  const visit = await sign({ path: "/health" });
  const { page } = visit;
  const ends = page.locator("section", { hasText: "Exits and restarts" }).last();
  await ends.getByText(/cmux .* started/).waitFor();
  process.kill(agent.pid as number, "SIGKILL");
  await ends.getByRole("link", { name: "api" }).first().waitFor();
  await ends.getByText("1 exit").waitFor();
  const before = await page.getByText(/^\d+$/).allTextContents();
  await visit.outage();
  await page
    .getByText(/^Reconnecting…/)
    .first()
    .waitFor();
  await visit.back();
  await until("it is told that it started again", async () => {
    return (await ends.getByText(/cmux .* started/).count()) === 2;
  });
  const pid = (await house.status()).daemon.pid;
  expect(before).not.toContain(String(pid));
  await page.getByText(String(pid), { exact: true }).waitFor();
});
