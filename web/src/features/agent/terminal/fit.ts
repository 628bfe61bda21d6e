/** How large a terminal is drawn, and how large it is asked to be. */

/** Columns and rows. */
export type Size = readonly [columns: number, rows: number];

export type Box = { width: number; height: number };

/** How wide and high a cell is, by the font's size. */
export type Cell = { width: number; height: number };

/** Letters that are made to fit are no smaller: they would not be read. The rest is scrolled to. */
const FITTING_MIN = 11;

/** How small and large a person may have them. */
export const LETTERS = { min: 6, max: 32 };

/** The sizes that the daemon takes. */
const COLUMNS = { min: 20, max: 500 };
const ROWS = { min: 5, max: 300 };

/** Returns the font's size with which a terminal of a size fits into a box, as far as it can be read. */
export function fontFor(box: Box, [columns, rows]: Size, cell: Cell, most: number): number {
  const fits = Math.min(box.width / (columns * cell.width), box.height / (rows * cell.height));
  // Letters of a size that is not whole lose their lowest row of dots, and with it every underscore.
  return Math.max(FITTING_MIN, Math.min(most, Math.floor(fits)));
}

/** Returns how many columns and rows of a font's size are in a box. */
export function sizeFor(box: Box, cell: Cell, font: number): Size {
  const columns = Math.floor(box.width / (cell.width * font));
  const rows = Math.floor(box.height / (cell.height * font));
  return [within(columns, COLUMNS), within(rows, ROWS)];
}

function within(value: number, { min, max }: { min: number; max: number }): number {
  return Math.max(min, Math.min(max, value));
}

export function isSame(one: Size | null, other: Size | null): boolean {
  return one?.[0] === other?.[0] && one?.[1] === other?.[1];
}

/** Returns a text in pieces of at most `most` characters, none of which is cut in two. */
export function pieces(text: string, most: number): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < text.length) {
    let end = Math.min(text.length, at + most);
    const last = text.charCodeAt(end - 1);
    const isCut = end < text.length && last >= 0xd800 && last <= 0xdbff && end - at > 1;
    if (isCut) end -= 1;
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
