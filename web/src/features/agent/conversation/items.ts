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
  const [parts, others] = [partsOf(one), partsOf(other)];
  return (
    one.id === other.id &&
    parts.length === others.length &&
    parts.every((part, at) => isSameEntry(part, others[at]))
  );
}

/** Returns the entries that an item is made of. */
function partsOf(item: Item): Entry[] {
  switch (item.what) {
    case "prompt":
    case "answer":
    case "thinking":
    case "note":
      return [item];
    case "call":
      return item.result === null ? [item.call] : [item.call, item.result];
    case "result":
      return [item.result];
  }
}

function isSameEntry(one: Entry, other: Entry | undefined): boolean {
  // All that is new is compared with all that is known, and most of it is the very same.
  if (one === other) return true;
  return one.id === other?.id && JSON.stringify(one) === JSON.stringify(other);
}

/** Returns what an entry is a part of: a message or a line of the transcript, whose parts are numbered. */
function wholeOf({ id }: Entry): string {
  const dot = id.lastIndexOf(".");
  return dot === -1 ? id : id.slice(0, dot);
}

function numberOf({ id }: Entry): number {
  return Number(id.slice(id.lastIndexOf(".") + 1));
}

/**
 * Returns what is known after the newest page was loaded again; nothing if the two do not fit together, because more
 * has been said in between, because something was taken back, or because it is another conversation. A message may be
 * written again as it grows, and then its parts are others under the same names: what the page has of it is all of it.
 */
export function withNewest(
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
): ReadonlyArray<Entry> | null {
  const [first] = page;
  if (known.length === 0) return page;
  if (first === undefined) return null;
  const before = keptBefore(known, page, first);
  if (before === null) return null;
  // What is the same is kept as it is, so that nothing is drawn again.
  const had = new Map(known.map((entry) => [entry.id, entry]));
  const again = page.map((entry) => {
    const was = had.get(entry.id);
    return was !== undefined && isSameEntry(was, entry) ? was : entry;
  });
  const next = [...before, ...again];
  const isSame = next.length === known.length && next.every((entry, at) => entry === known[at]);
  return isSame ? known : next;
}

/** Returns what of the known is before a page, or nothing if the page does not say how it goes on from there. */
function keptBefore(
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
  first: Entry,
): ReadonlyArray<Entry> | null {
  const told = new Set(page.map(wholeOf));
  const isTold = (entry: Entry) => told.has(wholeOf(entry));
  if (known.every(isTold) && page.some(({ id }) => id === known[0]?.id)) return [];
  const from = known.findIndex(({ id }) => id === first.id);
  if (from === -1 || !known.slice(from).every(isTold)) return null;
  const before = known.slice(0, from);
  const isSplit = (entry: Entry) => wholeOf(entry) === wholeOf(first);
  const last = before.at(-1);
  if (last === undefined || !isSplit(last)) return before.filter((entry) => !isTold(entry));
  // The page begins amid a message. The parts before it are right only if those in it are as they were.
  const [was, is] = [known.slice(from).filter(isSplit), page.filter(isSplit)];
  const isSame = was.length === is.length && was.every((entry, at) => isSameEntry(entry, is[at]));
  return isSame ? before.filter((entry) => isSplit(entry) || !isTold(entry)) : null;
}

/** Returns what is known after an older page was loaded. Of a message that is known, it has an older version. */
export function withOlder(
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
): ReadonlyArray<Entry> {
  const [first] = known;
  if (first === undefined) return page;
  const told = new Set(known.map(wholeOf));
  // The message that the known begins amid goes on before it.
  const isBefore = (entry: Entry) =>
    wholeOf(entry) === wholeOf(first)
      ? numberOf(entry) < numberOf(first)
      : !told.has(wholeOf(entry));
  return [...page.filter(isBefore), ...known];
}

/** Where a page that was loaded begins, and what to ask for to get what is before it. */
export type Mark = { first: string; next: string | null };

/** What is kept of a conversation, and where the pages of it begin, the oldest first. */
export type Kept = { entries: ReadonlyArray<Entry>; marks: ReadonlyArray<Mark> };

/** Returns where the loaded pages begin after the newest, which `known` ends with, was loaded again. */
export function withMark(
  marks: ReadonlyArray<Mark>,
  known: ReadonlyArray<Entry>,
  page: ReadonlyArray<Entry>,
  next: string | null,
): ReadonlyArray<Mark> {
  const places = new Map(known.map(({ id }, at) => [id, at]));
  const place = ({ first }: Mark) => places.get(first) ?? known.length;
  const start = known.length - page.length;
  // What is before the same place is known already, perhaps with pages that had nothing new in them.
  const isMarked = marks.some((mark) => place(mark) === start && mark.next === next);
  if (isMarked) return marks.filter((mark) => place(mark) <= start);
  return [...marks.filter((mark) => place(mark) < start), { first: page[0]?.id ?? "", next }];
}

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
): Kept {
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
