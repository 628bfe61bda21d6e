/** What lies over the page: the palette or the sheet of shortcuts, or nothing. */

import { cell } from "../shared/cell";

export type Opened = "palette" | "shortcuts" | null;

const opened = cell<Opened>(null);

export const setOpened = opened.set;
export const useOpened = opened.use;
export const openPalette = () => setOpened("palette");
export const openShortcuts = () => setOpened("shortcuts");

/** Opens the palette, or closes it if it is what is open. */
export const togglePalette = () => setOpened(opened.get() === "palette" ? null : "palette");
