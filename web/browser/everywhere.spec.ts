/** What holds on every page: addresses, themes, any size of screen, and being called. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { choose } from "./palette";
import { test as alone } from "./stage";
import { open, shown, test, viewsOf } from "./team";
import { until } from "./wait";

const ASKS = {
  rules: [
    { when: { contains: "a word" }, steps: [ask("cmux send user --kind question 'Which one?'")] },
    { when: { contains: "write it" }, steps: [{ write: { path: "a", text: "b", ask: true } }] },
  ],
};

function ask(command: string) {
  return { tool: { name: "Bash", input: { command }, ask: false } };
}

test("every address shows the same after a reload, and in another browser", async ({
  sign,
  team,
}) => {
  const visit = await sign();
  const { page } = visit;
  const other = await sign();
  for (const view of viewsOf(team)) {
    await open(visit, view);
    const address = page.url();
    await page.reload();
    await shown(page, view);
    expect(page.url()).toBe(address);
    await other.page.goto(address);
    await shown(other.page, view);
    // How much needs a person is known a little after the page is shown.
    await until(`${view.name} is called the same`, async () => {
      return (await other.page.title()) === (await page.title());
    });
  }
});

test("what was chosen on a page is in its address", async ({ sign, team }) => {
  const visit = await sign();
  const { page } = visit;
  await page.getByRole("searchbox", { name: "Find an agent" }).fill("tile");
  await page.reload();
  await page.getByRole("link", { name: "tiles" }).waitFor();
  expect(await page.getByRole("link", { name: "lead" }).count()).toBe(0);

  await visit.go(`/agents/${team.api}`);
  await page.getByRole("tab", { name: "Facts" }).click();
  await page.reload();
  await page.getByRole("tab", { name: "Facts", selected: true }).waitFor();

  await visit.go("/messages");
  await page.getByRole("combobox", { name: "State" }).click();
  await page.getByRole("option", { name: "Queued" }).click();
  await page
    .getByText(/Begin with the coast/)
    .first()
    .waitFor({ state: "detached" });
  await page.reload();
  await page
    .getByText(/Please look at the API/)
    .first()
    .waitFor();
  await page.getByRole("combobox", { name: "State" }).getByText("Queued").waitFor();
  expect(await page.getByText(/Begin with the coast/).count()).toBe(0);
});

test("what is not there is said in words, with a way on", async ({ sign }) => {
  const visit = await sign();
  const { page } = visit;
  visit.allow(/status of 404/);
  for (const [path, title, way, to] of [
    ["/nowhere", "There is no such page", "Go to the fleet", "/"],
    ["/settings/nowhere", "There is no such page", "Go to the fleet", "/"],
    ["/health/at/all?x=1", "There is no such page", "Go to the fleet", "/"],
    ["/agents/agt_01ARZ3NDEKTSV4RRFFQ69G5FAV", "There is no such agent", "Go to the fleet", "/"],
    ["/agents/api", "There is no such agent", "Go to the fleet", "/"],
    ["/projects/none-0a1b2c3d", "There is no such project", "See all", "/"],
  ] as const) {
    await visit.go(path);
    await page.getByRole("heading", { name: title }).waitFor();
    await page.getByRole("link", { name: way }).click();
    await page.waitForURL(`**${to}`);
  }
  for (const place of ["/messages", "/inbox"]) {
    await visit.go(`${place}?thread=msg_01ARZ3NDEKTSV4RRFFQ69G5FAV`);
    await page.getByRole("heading", { name: "There is no such conversation" }).waitFor();
    await page.getByRole("button", { name: "Close the conversation" }).click();
    await page.getByRole("heading", { name: "No conversation is open" }).waitFor();
  }
});

test("the theme is the system's until one is chosen, which is kept", async ({ sign }) => {
  const visit = await sign({ dark: true });
  const { page } = visit;
  const shade = () => page.evaluate(() => document.documentElement.dataset["theme"]);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await shade()).toBe("dark");
  const dark = await ground();
  await visit.go("/settings");
  await page.getByRole("button", { name: "Light" }).click();
  expect(await shade()).toBe("light");
  expect(await ground()).not.toBe(dark);
  await visit.go("/health");
  expect(await shade()).toBe("light");
  await page.reload();
  expect(await shade()).toBe("light");
  await choose(page, "theme of the system");
  await until("it is dark again", async () => (await shade()) === "dark");
  await page.emulateMedia({ colorScheme: "light" });
  await until("it follows the system", async () => (await shade()) === "light");
  await choose(page, "dark theme");
  await until("it is dark", async () => (await shade()) === "dark");
  await page.reload();
  expect(await shade()).toBe("dark");
});

const SCREENS = [
  { name: "a phone", wanted: { phone: true } },
  { name: "a narrow window", wanted: { width: 720, height: 800 } },
  { name: "a small laptop", wanted: { width: 1100, height: 700 } },
  { name: "a wall", wanted: { width: 3840, height: 2160 } },
];

for (const { name, wanted } of SCREENS) {
  test(`no page is wider than ${name}, and nothing is cut off`, async ({ sign, team }) => {
    const visit = await sign(wanted);
    const { page } = visit;
    for (const view of viewsOf(team)) {
      await open(visit, view);
      const { wide, cut } = await page.evaluate(outside);
      expect(wide, view.name).toBeLessThanOrEqual(0);
      expect(cut, view.name).toEqual([]);
    }
  });
}

test("on a phone every page is a touch or two away", async ({ sign }) => {
  const { page } = await sign({ phone: true });
  for (const name of ["Inbox", "Messages", "Activity", "Health", "Fleet"]) {
    await page.getByRole("navigation").getByRole("link", { name }).tap();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
  }
  await page.getByRole("button", { name: "More" }).tap();
  await page.getByRole("option", { name: "Settings" }).waitFor();
  expect(await page.evaluate(outside)).toMatchObject({ cut: [] });
  await page.getByRole("option", { name: "Settings" }).tap();
  await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
});

for (const wanted of [{}, { phone: true }]) {
  const where = "phone" in wanted ? "on a phone" : "on a desktop";
  test(`nothing jumps ${where}, when a page is opened or something happens`, async ({
    sign,
    house,
    team,
  }) => {
    const visit = await sign(wanted);
    const { page } = visit;
    await page.addInitScript(watchShifts);
    for (const view of viewsOf(team)) {
      await open(visit, view);
      await house.send("lead", "Thank you.", "--wait=60");
      await house.until("lead", ({ phase, queue }) => phase === "idle" && queue === 0);
      await painted(page);
      const { sum, moved } = await page.evaluate(() => window.shifts);
      expect(sum, `${view.name}: ${moved.join(", ")}`).toBeLessThan(0.1);
    }
  });
}

alone("a person is called only if they want it and look elsewhere", async ({ house, sign }) => {
  const shop = await house.project("shop");
  for (const name of ["off", "on", "seen"]) await house.agent(shop, name, ASKS);
  const visit = await sign();
  const { page } = visit;
  await page.addInitScript(recordCalls);
  await visit.go("/settings");
  const calls = () => page.evaluate(() => window.calls.map(({ title }) => title));
  const bodies = () => page.evaluate(() => window.calls.map(({ body }) => body));

  await house.send("off", "write it");
  await counts(page, 1);
  expect(await calls()).toEqual([]);

  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText(/^This browser calls you/).waitFor();
  await house.send("on", "write it");
  await counts(page, 2);
  expect(await calls()).toEqual(["on needs you"]);
  await house.send("seen", "a word");
  await counts(page, 3);
  expect(await calls()).toEqual(["on needs you", "seen asks you something"]);
  const permission = "Wants a permission: answer in its terminal";
  expect(await bodies()).toEqual([permission, "It is in your inbox."]);
  await page.evaluate(() => window.calls[1]?.onclick?.());
  await page.waitForURL("**/inbox?thread=*");
  await page.getByText("Which one?").first().waitFor();
  await page.getByText(/^In your inbox, read/).waitFor();
  await counts(page, 3);
  await page.evaluate(() => window.calls[0]?.onclick?.());
  await page.waitForURL("**/agents/*");
  await page.getByRole("heading", { name: "on", level: 1 }).waitFor();

  await page.evaluate(() => {
    window.isLooking = true;
  });
  await house.send("seen", "write it");
  await counts(page, 4);
  expect(await calls()).toHaveLength(2);
});

alone("notifications are kept on until they are turned off", async ({ house, sign }) => {
  const shop = await house.project("shop");
  for (const name of ["one", "two"]) await house.agent(shop, name, ASKS);
  const visit = await sign();
  const { page } = visit;
  await page.addInitScript(recordCalls);
  await visit.go("/settings");
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("button", { name: "Turn off" }).waitFor();
  await visit.go("/health");
  await page.getByText("Live", { exact: true }).waitFor();
  await house.send("one", "write it");
  await counts(page, 1);
  expect(await page.evaluate(() => window.calls.length)).toBe(1);
  await choose(page, "turn notifications off");
  await house.send("two", "write it");
  await counts(page, 2);
  expect(await page.evaluate(() => window.calls.length)).toBe(1);
});

alone(
  "a browser that calls for no page says so, and shows all the same what happens",
  async ({ house, sign }) => {
    const shop = await house.project("shop");
    for (const name of ["one", "two"]) await house.agent(shop, name, ASKS);
    const visit = await sign();
    const { page } = visit;
    await page.addInitScript(recordCalls);
    await page.addInitScript(() => {
      const call = () => {
        throw new TypeError("Illegal constructor");
      };
      const allowed = { permission: "granted", requestPermission: async () => "granted" };
      window.Notification = Object.assign(call, allowed) as never;
    });
    await visit.go("/settings");
    await page.getByRole("button", { name: "Turn on" }).click();
    await house.send("one", "write it");
    await counts(page, 1);
    await page.getByText("This browser cannot notify.").waitFor();
    expect(await page.getByRole("button", { name: "Turn on" }).isDisabled()).toBe(true);
    await page.getByRole("navigation").getByRole("link", { name: "Fleet" }).click();
    await house.send("two", "write it");
    await counts(page, 2);
    const asking = page.getByRole("listitem").getByText("Needs you", { exact: true });
    await until("both are shown to ask", async () => (await asking.count()) === 2);
  },
);

alone("a browser that was told not to call says how to allow it", async ({ sign }) => {
  const { page } = await sign({ path: "/settings" });
  await page.getByText(/^The browser was told not to/).waitFor();
  expect(await page.getByRole("button", { name: "Turn on" }).isDisabled()).toBe(true);
});

alone("the title counts what needs a person, on every page", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", ASKS);
  const visit = await sign();
  const { page } = visit;
  await page.getByRole("link", { name: "api" }).waitFor();
  expect(await page.title()).toBe("Fleet · cmux");
  await house.send("api", "a word", "--wait=60");
  await counts(page, 1);
  await house.send("api", "write it", "--wait=60");
  await counts(page, 2);
  for (const name of ["Inbox", "Messages", "Activity", "Health", "Settings"]) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await until(`${name} is named`, async () => (await page.title()) === `(2) ${name} · cmux`);
  }
  await visit.go("/inbox");
  await page.getByText("Which one?").first().click();
  await page.getByText(/^In your inbox, read/).waitFor();
  await counts(page, 2);
  await page.getByRole("textbox", { name: "Answer api" }).fill("The first.");
  await page.getByRole("button", { name: "Answer" }).click();
  await counts(page, 1);
});

declare global {
  interface Window {
    /** How far things have moved by themselves, and what did. */
    shifts: { sum: number; moved: string[] };
    /** What the person was called for. */
    calls: Array<{ title: string; body: string; onclick: (() => void) | null }>;
    /** Whether the person looks at the page. */
    isLooking: boolean;
  }
}

/** Waits until the title counts so many. */
function counts(page: Page, value: number): Promise<void> {
  return until(`the title counts ${value}`, async () => {
    return (await page.title()).startsWith(`(${value}) `);
  });
}

/** Waits until what has changed was drawn. */
function painted(page: Page): Promise<void> {
  return page.evaluate(
    () => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(() => then()))),
  );
}

/** Returns by how much the page is wider than the screen, and what is used that is not all in sight. */
function outside(): { wide: number; cut: string[] } {
  const OUT_OF_SIGHT = ".sr-only, [inert], .xterm";
  const all = (what: string) =>
    [...document.querySelectorAll(what)].filter(
      (element) => element.checkVisibility() && element.closest(OUT_OF_SIGHT) === null,
    );
  const isAside = (element: Element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < -0.5 || right > innerWidth + 0.5;
  };
  // What is made to be moved sideways, such as a terminal, is wider on purpose.
  const isMoved = (element: Element) =>
    element.closest(".overflow-x-auto, .overflow-auto, pre") !== null;
  const used = all("h1, h2, h3, a, button, input, textarea, canvas").filter(
    (element) => isAside(element) && !isMoved(element),
  );
  const boxes = all(".overflow-y-auto").filter((box) => box.scrollWidth > box.clientWidth);
  const dialogs = all("[role=dialog]").filter((dialog) => {
    const { top, bottom } = dialog.getBoundingClientRect();
    return isAside(dialog) || top < 0 || bottom > innerHeight;
  });
  const name = (element: Element) => `${element.tagName} ${element.textContent.slice(0, 40)}`;
  return {
    wide: document.documentElement.scrollWidth - innerWidth,
    cut: [...used, ...boxes, ...dialogs].map(name),
  };
}

/** Adds up how far things move without being touched. */
function watchShifts(): void {
  type Shift = PerformanceEntry & {
    value: number;
    hadRecentInput: boolean;
    sources: Array<{ node: Node | null }>;
  };
  window.shifts = { sum: 0, moved: [] };
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries() as Shift[]) {
      if (hadRecentInput) continue;
      window.shifts.sum += value;
      for (const { node } of sources) {
        window.shifts.moved.push(`${node?.nodeName} ${node?.textContent?.slice(0, 40)}`);
      }
    }
  }).observe({ type: "layout-shift", buffered: true });
}

/** Has the browser keep what it would show, as one that was allowed to and that nobody looks at. */
function recordCalls(): void {
  window.calls = [];
  window.isLooking = false;
  document.hasFocus = () => window.isLooking;
  const call = function (this: object, title: string, { body }: { body: string }) {
    window.calls.push(Object.assign(this, { title, body, onclick: null, close: () => {} }));
  };
  const allowed = { permission: "granted", requestPermission: async () => "granted" };
  window.Notification = Object.assign(call, allowed) as never;
}
