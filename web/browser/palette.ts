/** The palette, as a person uses it. */

import type { Page } from "playwright-core";
import { until } from "./wait";

/** Chooses in the palette what is found by a few letters, and then by some more. */
export async function choose(page: Page, ...letters: string[]): Promise<void> {
  await page.getByRole("navigation").waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Do anything" });
  await field.waitFor();
  for (const typed of letters) {
    await field.fill(typed);
    const first = page.getByRole("option").first();
    await until(`${typed} is found`, async () => {
      return (await first.getAttribute("aria-selected")) === "true";
    });
    await page.keyboard.press("Enter");
    await until(`${typed} is chosen`, async () => {
      return (await field.count()) === 0 || (await field.inputValue()) === "";
    });
  }
}
