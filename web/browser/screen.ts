/** What is on the terminal of a page, and what its page says to it. */

import type { Page } from "playwright-core";
import { until } from "./wait";

/** Waits until a text is on the terminal. */
export async function shows(page: Page, text: string): Promise<void> {
  await until(`the terminal shows ${text}`, async () => (await screen(page)).includes(text));
}

/** Returns what is on the terminal, a line each. */
export async function screen(page: Page): Promise<string> {
  const rows = await page.locator(".xterm-rows > div").allTextContents();
  return rows.map((row) => row.replaceAll("\u00a0", " ")).join("\n");
}

/** What a page has said to terminals. */
export type Heard = {
  /** How often it has connected. */
  connections: number;
  /** What it has typed. */
  typed: string[];
  resizes: number[][];
};

/** Listens to what a page says to terminals from now on. */
export function listen(page: Page): Heard {
  const heard: Heard = { connections: 0, typed: [], resizes: [] };
  page.on("websocket", (socket) => {
    if (!socket.url().includes("/terminal/ws")) return;
    heard.connections += 1;
    socket.on("framesent", ({ payload }) => {
      const said = JSON.parse(String(payload)) as { input?: string; resize?: number[] };
      if (said.input !== undefined) heard.typed.push(said.input);
      if (said.resize !== undefined) heard.resizes.push(said.resize);
    });
  });
  return heard;
}
