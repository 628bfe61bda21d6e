/** The rows of the log, as a page shows them. */

import type { Page } from "playwright-core";
import type { Event } from "../src/wire";

/** What a row says of its event. */
export type Row = { id: number; kind: string; at: string };

export function rowOf({ id, kind, at }: Event): Row {
  return { id, kind, at };
}

/** Returns the rows that are drawn, from top to bottom, once all that is in sight is. */
export async function drawn(page: Page): Promise<Row[]> {
  const rows = await page.waitForFunction(() => {
    const list = document.querySelector('ol[aria-label="Events"]');
    const view = list?.parentElement?.getBoundingClientRect();
    if (!list || !view) return null;
    const placed = [...list.children].map((item) => ({ item, box: item.getBoundingClientRect() }));
    placed.sort((one, other) => one.box.top - other.box.top);
    const { top, bottom } = list.getBoundingClientRect();
    const begin = placed[0]?.box.top ?? Number.POSITIVE_INFINITY;
    const end = placed.at(-1)?.box.bottom ?? 0;
    // A pixel more or less is due to rounding.
    if (begin > Math.max(top, view.top) + 1 || end < Math.min(bottom, view.bottom) - 1) return null;
    const rows = placed.map(({ item }) => {
      const row = item.querySelector("[data-row]");
      return {
        id: Number(row?.getAttribute("data-row")),
        kind: row?.lastElementChild?.textContent ?? "",
        at: row?.querySelector("time")?.dateTime ?? "",
      };
    });
    return rows.every(({ id }) => id > 0) ? rows : null;
  });
  return (await rows.jsonValue()) as Row[];
}

/** Scrolls to a part of the log, of which 0 is its first row and 1 its last. */
export async function scroll(page: Page, part: number): Promise<void> {
  await page.evaluate((part) => {
    const scroller = document.querySelector('ol[aria-label="Events"]')?.parentElement;
    if (scroller) scroller.scrollTop = part * (scroller.scrollHeight - scroller.clientHeight);
  }, part);
}

/** Scrolls to a part of the log, and returns what is drawn there. */
export async function drawnAt(page: Page, part: number): Promise<Row[]> {
  await scroll(page, part);
  return drawn(page);
}

/** Returns all rows from the first to the last, by scrolling through them. One that is there twice is told twice. */
export async function everyRow(page: Page): Promise<Row[]> {
  const all = await drawnAt(page, 0);
  for (;;) {
    const isEnd = await page.evaluate(() => {
      const scroller = document.querySelector('ol[aria-label="Events"]')?.parentElement;
      if (!scroller) throw new Error("there is no log");
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      scroller.scrollTop += clientHeight / 2;
      return scrollTop + clientHeight >= scrollHeight - 1;
    });
    if (isEnd) return all;
    const next = await drawn(page);
    const joint = next.findIndex(({ id }) => id === all.at(-1)?.id);
    all.push(...next.slice(joint + 1));
  }
}
