/** Makes of a conversation's entries what is shown: each call with its result, wherever the two are. */

import type { Entry } from "../../../wire";

type Of<What extends Entry["what"]> = Extract<Entry, { what: What }>;

export type Call = Of<"call">;
export type Result = Of<"result">;

/** What is shown. */
export type Item =
  | Of<"prompt">
  | Of<"answer">
  | Of<"thinking">
  | Of<"note">
  | { what: "call"; id: string; subagent: boolean; call: Call; result: Result | null }
  /** A result whose call has not been loaded. */
  | { what: "result"; id: string; subagent: boolean; result: Result };

/** Returns the entries as they are shown, oldest first. */
export function itemsOf(entries: ReadonlyArray<Entry>): Item[] {
  const results = new Map<string, Result>();
  const called = new Set<string>();
  for (const entry of entries) {
    if (entry.what === "result") results.set(entry.call, entry);
    if (entry.what === "call") called.add(entry.call);
  }
  const items: Item[] = [];
  for (const entry of entries) {
    const item = itemOf(entry, results, called);
    if (item !== null) items.push(item);
  }
  return items;
}

function itemOf(
  entry: Entry,
  results: ReadonlyMap<string, Result>,
  called: ReadonlySet<string>,
): Item | null {
  switch (entry.what) {
    case "prompt":
    case "answer":
    case "thinking":
    case "note":
      return entry;
    case "call": {
      const { id, subagent } = entry;
      return { what: "call", id, subagent, call: entry, result: results.get(entry.call) ?? null };
    }
    case "result": {
      if (called.has(entry.call)) return null;
      return { what: "result", id: entry.id, subagent: entry.subagent, result: entry };
    }
  }
}

/** Returns whether an item is shown as another one is. Entries that were loaded again are others, and the same. */
export function isSameItem(one: Item, other: Item): boolean {
  if (one.what !== other.what || one.id !== other.id) return false;
  if (one.what === "call" && other.what === "call") {
    return one.call.id === other.call.id && one.result?.id === other.result?.id;
  }
  return textOf(one) === textOf(other);
}

function textOf(item: Item): string {
  switch (item.what) {
    case "prompt":
    case "answer":
    case "thinking":
    case "note":
      return item.text;
    case "call":
      return item.call.tool;
    case "result":
      return item.result.text;
  }
}

/**
 * Returns what is known after the newest page was loaded again; nothing if the two do not touch, because more
 * has been said in between, or because it is another conversation.
 */
export function withNewest(
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
): ReadonlyArray<Entry> | null {
  const first = page[0];
  if (first === undefined) return known.length === 0 ? [] : null;
  const from = known.findIndex(({ id }) => id === first.id);
  if (from === -1) return known.length === 0 ? page : null;
  // What is known already is kept as it is, so that nothing is drawn again.
  const added = page.filter(({ id }) => !known.some((entry) => entry.id === id));
  return added.length === 0 ? known : [...known, ...added];
}

/** Returns what is known after an older page was loaded. What is in both is there once. */
export function withOlder(
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
): ReadonlyArray<Entry> {
  const ids = new Set(known.map(({ id }) => id));
  return [...page.filter(({ id }) => !ids.has(id)), ...known];
}

/** Where a page that was loaded begins, and what to ask for to get what is before it. */
export type Mark = { first: string; next: string | null };

/** How many entries are kept while the end is followed, and how many while somebody reads further up. */
export const KEPT_MAX = 400;
export const KEPT_READ_MAX = 2_000;

/**
 * Returns what is kept of too many entries: the newest, from the beginning of a page on, so that what was before can
 * be asked for again.
 */
export function cropped(
  entries: ReadonlyArray<Entry>,
  marks: ReadonlyArray<Mark>,
  max: number,
): { entries: ReadonlyArray<Entry>; marks: ReadonlyArray<Mark> } {
  if (entries.length <= max) return { entries, marks };
  const places = new Map(entries.map(({ id }, at) => [id, at]));
  const placed = marks
    .map((mark) => ({ mark, at: places.get(mark.first) ?? 0 }))
    .filter(({ at }) => at >= entries.length - max)
    .sort((one, other) => one.at - other.at);
  const [from] = placed;
  if (from === undefined) return { entries, marks };
  return { entries: entries.slice(from.at), marks: placed.map(({ mark }) => mark) };
}
