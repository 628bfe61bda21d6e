/** Keeps lines where they are while somebody is about to use one, so that none jumps away under them. */

import { type RefObject, useReducer, useRef } from "react";
import { inPlace } from "./in-place";
import type { Line } from "./lines";

/** Where a pointer rests on what it points at: a finger does not. */
const POINTS = matchMedia("(hover: hover)");

/** Returns whether a row of a list is pointed at, has the focus, or has its menu open. */
function isUsed(box: HTMLElement | null): boolean {
  if (box === null) return false;
  if (POINTS.matches && box.querySelector("li:hover") !== null) return true;
  return box.contains(document.activeElement) || box.querySelector("[aria-expanded=true]") !== null;
}

/**
 * Returns the lines as they are to be shown in `scroller`, and what it has to listen to. Other lines are shown at once
 * if they are of another `scope`: another project, or other words that were looked for.
 */
export function useHeldLines(
  lines: ReadonlyArray<Line>,
  scope: string,
  scroller: RefObject<HTMLElement | null>,
) {
  const [, look] = useReducer((count: number) => count + 1, 0);
  const shown = useRef({ scope, lines, from: lines });
  const before = shown.current;
  if (before.scope !== scope || !isUsed(scroller.current)) {
    shown.current = { scope, lines, from: lines };
  } else if (before.from !== lines) {
    shown.current = { scope, lines: inPlace(before.lines, lines), from: lines };
  }
  // Where the focus goes is known a little after it has left.
  const leave = () => setTimeout(look);
  return { lines: shown.current.lines, listen: { onPointerLeave: leave, onBlur: leave } };
}
