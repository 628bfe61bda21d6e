/** Takes the page below a dialog out of reach, of the keyboard and of screen readers alike. */

import { useLayoutEffect } from "react";

let dialogs = 0;

/** What had the focus before, which is lost by what is out of reach. */
let before: Element | null = null;

/**
 * Holds the page still for as long as `isOpen`, and gives the focus back to what had it. What lies over the
 * page is drawn outside of its root.
 */
export function useInert(isOpen: boolean): void {
  useLayoutEffect(() => {
    if (!isOpen) return;
    if (dialogs === 0) before = document.activeElement;
    dialogs += 1;
    set();
    return () => {
      dialogs -= 1;
      set();
      // A dialog may follow at once, and what was done may have put the focus elsewhere.
      setTimeout(() => dialogs === 0 && giveBack());
    };
  }, [isOpen]);
}

function set(): void {
  document.getElementById("root")?.toggleAttribute("inert", dialogs > 0);
}

function giveBack(): void {
  const isNowhere = document.activeElement === null || document.activeElement === document.body;
  if (isNowhere && before instanceof HTMLElement) before.focus();
  before = null;
}
