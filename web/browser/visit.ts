/** A browser that visits a daemon's dashboard, and hears every complaint of its pages. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { House } from "./house";

/** What each run leaves to be looked at. */
export const PICTURES = join(process.env["CARGO_TARGET_DIR"] ?? "../target", "browser");

/** It is on a machine that may reach nobody, so it does not try. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  // Terminals are drawn as text then, which a test can read.
  "--disable-3d-apis",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--font-render-hinting=none",
];

/** Starts the system's Chromium. */
export function openBrowser(more: ReadonlyArray<string> = []): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["CMUX_CHROMIUM"] ?? "/usr/bin/chromium",
    args: [...FLAGS, ...more],
  });
}

export type Wanted = {
  width?: number;
  height?: number;
  dark?: boolean;
  phone?: boolean;
  permissions?: string[];
  /** Where to go after signing in; the fleet if it is not said. */
  path?: string;
};

export class Visit {
  readonly page: Page;
  private readonly context: BrowserContext;
  private readonly house: House;
  private readonly complaints: string[] = [];
  private readonly allowed: RegExp[] = [];
  /** Whether the daemon is known to be away: then a page is told by the browser that nobody answers. */
  private isAway = false;

  private constructor(house: House, context: BrowserContext, page: Page) {
    this.house = house;
    this.context = context;
    this.page = page;
    page.on("console", (said) => {
      if (said.type() === "error" || said.type() === "warning")
        this.complain(`${said.text()} (${said.location().url})`);
    });
    page.on("pageerror", (error) => this.complain(String(error.stack ?? error)));
  }

  private complain(text: string): void {
    const isOutage =
      /net::ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/.test(text);
    if (this.isAway && (isOutage || text.includes("WebSocket connection to"))) return;
    if (this.allowed.some((pattern) => pattern.test(text))) return;
    this.complaints.push(text);
  }

  /** Lets the page complain of what a test brings about on purpose. */
  allow(complaint: RegExp): void {
    this.allowed.push(complaint);
  }

  /** Signs a new browser in by a link, as a person does. */
  static async sign(browser: Browser, house: House, wanted: Wanted = {}): Promise<Visit> {
    const visit = await Visit.stranger(browser, house, wanted);
    await visit.page.goto(await house.link());
    if (wanted.path !== undefined) await visit.go(wanted.path);
    return visit;
  }

  /** Opens a browser that is not signed in. */
  static async stranger(browser: Browser, house: House, wanted: Wanted = {}): Promise<Visit> {
    const { width = 1440, height = 900, dark = false, phone = false } = wanted;
    const context = await browser.newContext({
      viewport: phone ? { width: 360, height: 740 } : { width, height },
      colorScheme: dark ? "dark" : "light",
      hasTouch: phone,
      isMobile: phone,
      permissions: wanted.permissions ?? [],
      reducedMotion: "reduce",
      locale: "en-US",
      timezoneId: "UTC",
    });
    context.setDefaultTimeout(60_000);
    return new Visit(house, context, await context.newPage());
  }

  async go(path: string): Promise<void> {
    await this.page.goto(this.house.address(path));
  }

  /** Has the daemon go, which is killed unless something else is to be done, and lets the page be told so. */
  async outage(go: () => unknown = () => this.house.kill()): Promise<void> {
    this.isAway = true;
    await go();
  }

  /** Has the daemon come back, and waits until the page has caught up with it. */
  async back(come: () => unknown = () => this.house.start()): Promise<void> {
    await come();
    await this.page.getByText("Live", { exact: true }).waitFor();
    this.isAway = false;
  }

  /** Keeps a picture of the page for people to look at. */
  async picture(name: string): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  /** Closes it, and throws what its page has complained of. */
  async close(): Promise<void> {
    await this.context.close();
    if (this.complaints.length > 0) throw new Error(`the page said: ${this.complaints.join("\n")}`);
  }
}
