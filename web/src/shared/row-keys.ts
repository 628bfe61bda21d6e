/** `j` and `k` in a list of rows, of which only those in sight are drawn. A row says its key as `data-row`. */

import { type RefObject, useRef } from "react";
import { useShortcuts } from "./keys";

type Key = string | number;

type Rows = {
  /** What a row is, and the heading in the sheet of shortcuts. */
  noun: string;
  group: string;
  scroller: RefObject<HTMLElement | null>;
  rows: () => ReadonlyArray<{ key: Key; at: number }>;
  /** Brings a line into sight. */
  show: (at: number) => void;
  /** The row that is open, which is gone on from; then the next one is opened, and else it is given the focus. */
  open?: string | undefined;
  onOpen?: (key: string) => void;
};

/** Has `j` and `k` go from row to row. */
export function useRowSteps({ noun, group, scroller, rows, show, open, onOpen }: Rows): void {
  const last = useRef<string | null>(null);
  const step = (by: 1 | -1) => {
    const all = rows();
    const from = open ?? focusedRow() ?? last.current;
    const here = all.findIndex(({ key }) => String(key) === from);
    const next = all[here === -1 ? (by === 1 ? 0 : all.length - 1) : here + by];
    if (next === undefined) return;
    const key = String(next.key);
    last.current = key;
    show(next.at);
    if (open !== undefined && onOpen !== undefined) onOpen(key);
    else focusRow(scroller.current, key);
  };
  useShortcuts([
    { keys: "j", label: `Next ${noun}`, group, run: () => step(1) },
    { keys: "k", label: `Previous ${noun}`, group, run: () => step(-1) },
  ]);
}

/** Returns the row that has the focus. */
export function focusedRow(): string | null {
  return document.activeElement?.getAttribute("data-row") ?? null;
}

/** Gives a row the focus: at once, for the keys that follow, or as soon as it is drawn. */
export function focusRow(box: HTMLElement | null, key: string): void {
  const find = () => box?.querySelector<HTMLElement>(`[data-row="${key}"]`);
  const row = find();
  if (row) row.focus();
  else requestAnimationFrame(() => find()?.focus());
}
