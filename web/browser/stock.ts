/** A home whose log is long before its daemon starts. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { House } from "./house";
import { test } from "./stage";

/** The program that fills a store, which the gate builds beside the one that is tried. */
const FILL =
  process.env["CMUX_FILL"] ?? join(dirname(process.env["CMUX_PROGRAM"] ?? ""), "examples", "fill");

/** What lets one caller ask as often as it likes. */
const IN_A_HURRY = "[limits]\nrequests_per_s = 100000\nburst = 100000\n";

/** A test in a house whose log has so many events, by agents in `north` and `south` that are gone. */
export function stocked(events: number) {
  return test.extend<{ house: House }>({
    // biome-ignore lint/correctness/noEmptyPattern: what is asked for is read off this.
    house: async ({}, use) => {
      const house = await House.open(async ({ home }) => {
        writeFileSync(join(home, "config.toml"), IN_A_HURRY, { mode: 0o600 });
        execFileSync(FILL, [home, String(events)]);
      });
      await use(house);
      await house.close();
    },
  });
}

/** The event in the middle of such a log, which alone says `needle`. */
export const needleOf = (events: number) => Math.floor(events / 2);
