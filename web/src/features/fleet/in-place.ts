/** What is shown of new lines while those before them are held where they are. Pure. */

import type { Line } from "./lines";

/**
 * Returns what there is to show, in the order in which it was shown before. What is new comes after what it follows,
 * what is gone is left out, and headings stay.
 */
export function inPlace(shown: ReadonlyArray<Line>, lines: ReadonlyArray<Line>): Line[] {
  const fresh = new Map(lines.map((line) => [line.key, line]));
  const held = shown.flatMap((line) => heldLine(line, fresh.get(line.key)));
  const keys = new Set(held.map(({ key }) => key));
  for (const [at, line] of lines.entries()) {
    if (keys.has(line.key) || line.what === "needs") continue;
    const before = lines.slice(0, at).findLast(({ key }) => keys.has(key));
    const place =
      before === undefined ? held.length : held.findIndex((it) => it.key === before.key) + 1;
    held.splice(place, 0, line);
    keys.add(line.key);
  }
  return held;
}

/** Returns a line as it is by now, in the words of the place where it is held. */
function heldLine(shown: Line, fresh: Line | undefined): Line[] {
  if (shown.what === "agent" && fresh?.what === "agent") {
    return [{ ...fresh, project: shown.project }];
  }
  if (fresh !== undefined) return [fresh];
  switch (shown.what) {
    case "needs":
      return [{ ...shown, count: 0 }];
    case "project":
      return [shown];
    case "agent":
    case "none":
      return [];
  }
}
