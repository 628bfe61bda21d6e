/** Which rows are in sight, by arithmetic alone: the same for ten rows as for a million. Pure. */

/** A row that is higher than the others, since what it tells is open. */
export type Opened = { index: number; extraPx: number };

export type Layout = { count: number; rowPx: number; opened: Opened | null };

/** Returns how high all rows are. */
export function heightOf({ count, rowPx, opened }: Layout): number {
  return count * rowPx + (opened?.extraPx ?? 0);
}

/** Returns where a row begins. */
export function topOf({ rowPx, opened }: Layout, index: number): number {
  const isBelow = opened !== null && index > opened.index;
  return index * rowPx + (isBelow ? opened.extraPx : 0);
}

/** Returns the row that is at a height. */
export function rowAt(layout: Layout, px: number): number {
  const { count, rowPx, opened } = layout;
  const clamp = (index: number) => Math.max(0, Math.min(count - 1, index));
  if (opened === null || px < (opened.index + 1) * rowPx) return clamp(Math.floor(px / rowPx));
  return clamp(Math.max(opened.index, Math.floor((px - opened.extraPx) / rowPx)));
}

export type Range = { from: number; to: number };

/** Returns the rows from `from` up to and without `to` that are in sight, with some beside them. */
export function inSight(layout: Layout, scrollPx: number, viewPx: number, overscan: number): Range {
  if (layout.count === 0) return { from: 0, to: 0 };
  const first = rowAt(layout, Math.max(0, scrollPx));
  const last = rowAt(layout, Math.max(0, scrollPx + viewPx));
  return {
    from: Math.max(0, first - overscan),
    to: Math.min(layout.count, last + 1 + overscan),
  };
}

/** Returns how far to scroll so that a row is in sight, or nothing if it is. */
export function scrollTo(
  layout: Layout,
  index: number,
  scrollPx: number,
  viewPx: number,
): number | null {
  const top = topOf(layout, index);
  const extra = layout.opened?.index === index ? layout.opened.extraPx : 0;
  const bottom = top + layout.rowPx + extra;
  if (top < scrollPx) return top;
  return bottom > scrollPx + viewPx ? Math.min(top, bottom - viewPx) : null;
}

/**
 * The stretch of the log that is laid out. Browsers draw nothing that is higher than some million pixels, so of a
 * very long log only a part is: the newest, or what is around the event that was asked for.
 */
export type Span = { first: number; last: number };

export const SPAN_MAX = 300_000;

/** Returns the stretch of a log from `first` to `head` to begin with. */
export function spanOf(first: number, head: number, at: number | undefined): Span {
  if (head - first < SPAN_MAX || at === undefined) {
    return { first: Math.max(first, head - SPAN_MAX + 1), last: head };
  }
  const middle = Math.max(first, Math.min(head, at));
  const start = Math.max(first, Math.min(middle - SPAN_MAX / 2, head - SPAN_MAX + 1));
  return { first: start, last: Math.min(head, start + SPAN_MAX - 1) };
}
