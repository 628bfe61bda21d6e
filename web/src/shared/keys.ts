/** Keyboard shortcuts: who wants which keys, and what was pressed. */

import { useEffect, useRef } from "react";
import { cell } from "./cell";

/** A shortcut. `keys` is one key, `mod+k` for Ctrl or Cmd, or two in a row: `g f`. */
export type Shortcut = {
  keys: string;
  label: string;
  group: string;
  run: () => void;
};

/** Whose a shortcut is: one page's, or every page's, which does it only where the page wants the keys for nothing. */
export type Layer = "page" | "everywhere";

export type Wanted = Shortcut & { layer: Layer };

/** Returns the shortcut that gets these keys: the newest of the page, or else the newest of all. */
export function holderOf(keys: string, wanted: ReadonlyArray<Wanted>): Wanted | undefined {
  const who = wanted.filter((one) => one.keys === keys);
  return who.findLast(({ layer }) => layer === "page") ?? who.at(-1);
}

/** How long the first of two keys is remembered. */
const SEQUENCE_MS = 1_200;

/**
 * Returns which of `known` was meant by `key` after `pending`, and what is pending then. A key that begins
 * a sequence is kept; one that ends none is taken by itself.
 */
export function advance(
  pending: string | null,
  key: string,
  known: ReadonlyArray<string>,
): { meant: string | null; pending: string | null } {
  if (pending !== null && known.includes(`${pending} ${key}`)) {
    return { meant: `${pending} ${key}`, pending: null };
  }
  if (known.includes(key)) return { meant: key, pending: null };
  const begins = known.some((keys) => keys.startsWith(`${key} `));
  return { meant: null, pending: begins ? key : null };
}

/** Returns a pressed key as shortcuts name it. */
export function named(event: {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}): string | null {
  if (event.altKey) return null;
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase();
  return event.ctrlKey || event.metaKey ? `mod+${key.toLowerCase()}` : key;
}

const groups = new Map<symbol, ReadonlyArray<Wanted>>();
const all = cell<ReadonlyArray<Wanted>>([]);

const changed = () => all.set([...groups.values()].flat());

/** Has keys do something for as long as a component is there. The newest of a layer that wants a key gets it. */
export function useShortcuts(shortcuts: ReadonlyArray<Shortcut>, layer: Layer = "page"): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  const shape = shortcuts.map(({ keys, label, group }) => `${keys}\t${label}\t${group}`).join("\n");
  useEffect(() => {
    const id = Symbol("shortcuts");
    const lines = shape === "" ? [] : shape.split("\n");
    const stable = lines.map((line, at) => {
      const [keys = "", label = "", group = ""] = line.split("\t");
      return { keys, label, group, layer, run: () => latest.current[at]?.run() };
    });
    groups.set(id, stable);
    changed();
    return () => {
      groups.delete(id);
      changed();
    };
  }, [shape, layer]);
}

/** Returns all shortcuts that work now. */
export function useAllShortcuts(): ReadonlyArray<Shortcut> {
  const wanted = all.use();
  return wanted.filter((one) => holderOf(one.keys, wanted) === one);
}

let pending: string | null = null;
let pendingAt = 0;

/** Listens to the whole page. Returns how to end that. */
export function listenToKeys(): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return;
    const key = named(event);
    if (key === null || isTaken(event, key)) return;
    if (performance.now() - pendingAt > SEQUENCE_MS) pending = null;
    const next = advance(
      pending,
      key,
      all.get().map(({ keys }) => keys),
    );
    pending = next.pending;
    pendingAt = performance.now();
    const holder = next.meant === null ? undefined : holderOf(next.meant, all.get());
    if (holder === undefined) return;
    event.preventDefault();
    holder.run();
  };
  addEventListener("keydown", listen);
  return () => removeEventListener("keydown", listen);
}

/** What takes every key that is pressed in it. */
const TAKES_KEYS = "[data-takes-keys]";

/** What takes the keys by which one types. */
const TYPED_INTO = `input:not([type=checkbox]), textarea, select, [contenteditable], [data-takes-typing], ${TAKES_KEYS}`;

/** Returns whether a key is for what has the focus: text that is typed, a dialog, or a terminal. */
function isTaken(event: KeyboardEvent, key: string): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (key.startsWith("mod+")) return target.closest(TAKES_KEYS) !== null;
  if (target.closest(TYPED_INTO)) return true;
  if (document.querySelector("[role=dialog], [role=alertdialog], [role=menu], [role=listbox]")) {
    return true;
  }
  // A button takes Enter and Space by itself.
  return (
    (key === "enter" || key === " ") &&
    target.closest("a, button, [role=tab], [role=option]") !== null
  );
}

/** Returns the keys of a shortcut as they are written on a keyboard. */
export function written(keys: string): string[] {
  const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);
  const names: Record<string, string> = {
    mod: isMac ? "⌘" : "Ctrl",
    enter: "Enter",
    escape: "Esc",
    arrowdown: "↓",
    arrowup: "↑",
  };
  return keys
    .split(/[ +]/)
    .map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key));
}
