/** What lies over the page: the palette or the sheet of shortcuts, or nothing. */

import { useSyncExternalStore } from "react";

export type Opened = "palette" | "shortcuts" | null;

let opened: Opened = null;
const listeners = new Set<() => void>();

export function setOpened(next: Opened): void {
  opened = next;
  for (const listener of listeners) listener();
}

export const openPalette = () => setOpened("palette");
export const openShortcuts = () => setOpened("shortcuts");

export function useOpened(): Opened {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => opened,
  );
}
