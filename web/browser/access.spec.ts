/** That nobody is kept out: every view is looked over by axe, light and dark, on a desktop and on a phone. */

import { readFileSync } from "node:fs";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { open, test, type View, viewsOf } from "./team";
import { Visit, type Wanted } from "./visit";

/** It is run in the page by the browser itself: the page loads no script but its own. */
const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");

const SCREENS: ReadonlyArray<{ name: string; wanted: Wanted }> = [
  { name: "light on a desktop", wanted: {} },
  { name: "dark on a desktop", wanted: { dark: true } },
  { name: "light on a phone", wanted: { phone: true } },
  { name: "dark on a phone", wanted: { phone: true, dark: true } },
];

/** What is opened over a page, and has no address. */
const OVER: ReadonlyArray<{ name: string; lay: (page: Page) => Promise<void> }> = [
  {
    name: "palette",
    lay: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "importer" }).waitFor();
    },
  },
  {
    name: "shortcuts",
    lay: async (page) => {
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
  },
  {
    name: "menu",
    lay: async (page) => {
      await page.getByRole("button", { name: "What to do with tests" }).click();
      await page.getByRole("menuitem", { name: "Stop" }).waitFor();
    },
  },
  {
    name: "question",
    lay: async (page) => {
      await page.getByRole("button", { name: "What to do with tests" }).click();
      await page.getByRole("menuitem", { name: "Stop" }).click();
      await page.getByRole("alertdialog", { name: "Stop tests?" }).waitFor();
    },
  },
];

const NOWHERE: View = {
  name: "nowhere",
  path: "/settings/nowhere",
  content: (page) => [page.getByRole("heading", { name: "There is no such page" })],
};

/** What is shown to a browser that is not signed in. */
const OUTSIDE: ReadonlyArray<View> = [
  {
    name: "signed out",
    path: "/",
    content: (page) => [page.getByRole("heading", { name: "You are signed out" })],
  },
  {
    name: "login",
    path: "/login",
    content: (page) => [page.getByRole("button", { name: "Log in" })],
  },
  {
    name: "stale link",
    path: "/login?link=long-gone",
    content: (page) => [page.getByRole("heading", { name: /does not work any more/ })],
  },
];

for (const { name, wanted } of SCREENS) {
  test(`every view can be used by everybody, ${name}`, async ({ sign, team }) => {
    const visit = await sign(wanted);
    for (const view of [...viewsOf(team), NOWHERE]) await look(visit, view);
    for (const { name, lay } of OVER) {
      await visit.go("/");
      await visit.page.getByRole("link", { name: "tiles" }).waitFor();
      await lay(visit.page);
      await check(visit.page, name);
    }
  });

  test(`the way in can be used by everybody, ${name}`, async ({ browser, house }) => {
    const visit = await Visit.stranger(browser, house, wanted);
    visit.allow(/status of 4\d\d|WebSocket connection/);
    for (const view of OUTSIDE) await look(visit, view);
    await visit.close();
  });
}

async function look(visit: Visit, view: View): Promise<void> {
  await open(visit, view);
  await check(visit.page, view.name);
}

/** Expects that axe finds nothing serious, and no page without a name, a language and a main part. */
async function check(page: Page, name: string): Promise<void> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    (): Promise<AxeResults> => window.axe.run(document, { resultTypes: ["violations"] }),
  );
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const found = serious.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
  expect(found, name).toEqual([]);
}

declare global {
  interface Window {
    axe: typeof import("axe-core");
  }
}
