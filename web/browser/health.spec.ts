/** Health: the parts and their state, what ended, and the last hour as plots. */

import { expect } from "vitest";
import { test } from "./stage";
import { until } from "./wait";

/** The plots that have a line as soon as there are two samples, its colour, and in how many columns it is at least. */
const LINES = [
  // What is told only now and then is a dot; the last line is over the others.
  { plot: "Delivery time", colour: "--asking", columns: 3 },
  { plot: "Memory of cmux", colour: "--accent", columns: 20 },
  { plot: "Memory left", colour: "--accent", columns: 20 },
  { plot: "Disk free", colour: "--accent", columns: 20 },
];

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
  for (const { plot, colour, columns } of LINES) {
    const canvas = page.getByRole("figure").filter({ hasText: plot }).locator("canvas");
    const drawn = () => canvas.evaluate(columnsIn, colour);
    await until(`${plot} has a line`, async () => (await drawn()) >= columns);
  }
  const delivery = page.getByRole("figure").filter({ hasText: "Delivery time" });
  for (const name of ["Half within", "19 of 20 within"]) {
    await delivery.getByText(name, { exact: true }).waitFor();
  }
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

/** Returns in how many columns of a canvas there is something in that colour. */
function columnsIn(canvas: SVGElement | HTMLElement, colour: string): number {
  const { width, height } = canvas as HTMLCanvasElement;
  const probe = Object.assign(document.createElement("canvas"), { width, height });
  const drawing = probe.getContext("2d", { willReadFrequently: true });
  if (drawing === null || width === 0 || height === 0) return 0;
  drawing.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(colour);
  drawing.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = drawing.getImageData(0, 0, 1, 1).data;
  drawing.clearRect(0, 0, width, height);
  drawing.drawImage(canvas as HTMLCanvasElement, 0, 0);
  const { data } = drawing.getImageData(0, 0, width, height);
  const columns = new Set<number>();
  for (let at = 0; at < data.length; at += 4) {
    const far = [red, green, blue].map((value, part) => Math.abs(value - (data[at + part] ?? 0)));
    if (Math.max(...far) < 40 && (data[at + 3] ?? 0) > 128) columns.add((at / 4) % width);
  }
  return columns.size;
}

test("a part that does not work says so, and why", async ({ sign }) => {
  const { page } = await sign();
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((said) => socket.send(degraded(String(said))));
  });
  await page.goto(page.url());
  await page.getByRole("link", { name: "Health" }).click();
  const row = page.getByRole("listitem").filter({ hasText: /^tmux / });
  await row.getByText("Degraded").waitFor();
  await row.getByText(WHY).waitFor();
  await page.getByText("Something does not work. Below is what, and why.").waitFor();
  const store = page.getByRole("listitem").filter({ hasText: /^Store / });
  await store.getByText("Healthy").waitFor();
});

const WHY = "it does not answer within a second";

/** Returns what the daemon says by its socket, as if tmux did not work. */
function degraded(said: string): string {
  const told = JSON.parse(said) as { kind: string; health?: Record<string, unknown> };
  if (told.kind !== "vitals") return said;
  const tmux = { status: "degraded", why: WHY };
  return JSON.stringify({ ...told, health: { ...told.health, status: "degraded", tmux } });
}

test("what ended is not said to be nothing while it cannot be read", async ({ sign }) => {
  const visit = await sign();
  visit.allow(/net::ERR_FAILED/);
  const { page } = visit;
  const isLog = /\/api\/events\?kind=/;
  await page.route(isLog, (route) => route.abort());
  await visit.go("/health");
  const ends = page.locator("section", { hasText: "Exits and restarts" }).last();
  const note = ends.getByRole("alert").filter({ hasText: "What ended cannot be read" });
  await note.waitFor();
  expect(await ends.getByText(/Nothing ended|\d exits?\b/).count()).toBe(0);
  await page.unroute(isLog);
  await note.getByRole("button", { name: "Try again" }).click();
  await ends.getByText("0 exits").waitFor();
  await ends.getByText(/cmux .* started/).waitFor();
  expect(await note.count()).toBe(0);
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
