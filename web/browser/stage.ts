/** What every test in a browser has: a house of its own, and browsers that visit it. */

import type { Browser } from "playwright-core";
import { test as base } from "vitest";
import { House } from "./house";
import { openBrowser, Visit, type Wanted } from "./visit";

type Stage = {
  browser: Browser;
  /** A home of the test's own, with a daemon and nothing else. */
  house: House;
  /** Signs a browser in. It is closed with the test, which fails if a page complained of something. */
  sign: (wanted?: Wanted) => Promise<Visit>;
};

export const test = base.extend<Stage>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: what is asked for is read off this.
    async ({}, use) => {
      const browser = await openBrowser();
      await use(browser);
      await browser.close();
    },
    { scope: "file" },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: what is asked for is read off this.
  house: async ({}, use) => {
    const house = await House.open();
    await use(house);
    await house.close();
  },
  sign: async ({ browser, house, task }, use) => {
    const visits: Visit[] = [];
    await use(async (wanted) => {
      const visit = await Visit.sign(browser, house, wanted);
      visits.push(visit);
      return visit;
    });
    for (const visit of visits) {
      if (task.result?.state === "fail") await visit.picture(`failed ${task.name}`);
      await visit.close();
    }
  },
});
