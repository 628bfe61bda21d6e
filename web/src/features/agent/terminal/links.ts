/** Addresses of pages in what is on a terminal, which can be opened. */

import type { IBufferLine, ILink, ILinkHandler, ILinkProvider, Terminal } from "@xterm/xterm";

/** How many lines one address may go over. */
const LINES_MAX = 12;

/** What an address is made of, as people write them. Lines that boxes are drawn of end it. */
const ADDRESS = /https?:\/\/[^\s"'`<>|\\^{}\u2500-\u259f]+/g;

/** What stands behind an address and is not of it. */
const BEHIND = /[.,;:!?*_]+$/;

export type Found = { text: string; at: number };

/** Returns the addresses in a text, and where each begins. */
export function addressesIn(text: string): Found[] {
  return [...text.matchAll(ADDRESS)].flatMap(({ 0: match, index }) => {
    const found = trimmed(match);
    return URL.canParse(found) ? [{ text: found, at: index }] : [];
  });
}

/** Takes off what stands behind: signs, and brackets that were opened before the address. */
function trimmed(address: string): string {
  const text = address.replace(BEHIND, "");
  for (const [open, close] of ["()", "[]"]) {
    const isOdd = count(text, close) > count(text, open);
    if (text.endsWith(close ?? "") && isOdd) return trimmed(text.slice(0, -1));
  }
  return text;
}

function count(text: string, sign = ""): number {
  return text.split(sign).length - 1;
}

/** Opens an address beside this page, which it is told nothing of. */
function open(_: MouseEvent, address: string): void {
  if (/^https?:/.test(address)) window.open(address, "_blank", "noopener,noreferrer");
}

/** What is done with links that programs make of a text: where one leads is shown, as the text need not say it. */
export function linkHandler(host: HTMLElement): ILinkHandler {
  return {
    activate: open,
    hover: (_, address) => {
      host.title = address;
    },
    leave: () => host.removeAttribute("title"),
  };
}

/** Returns who finds addresses in the lines of a terminal. */
export function linkProvider(terminal: Terminal): ILinkProvider {
  return {
    provideLinks(number, callback) {
      const { text, places } = lineAround(terminal, number - 1);
      const links = addressesIn(text).flatMap((found): ILink[] => {
        const start = places[found.at];
        const end = places[found.at + found.text.length - 1];
        if (start === undefined || end === undefined) return [];
        return [{ text: found.text, range: { start, end }, activate: open }];
      });
      callback(links.filter(({ range }) => range.start.y <= number && range.end.y >= number));
    },
  };
}

type Place = { x: number; y: number };

/** Returns the text that a line is part of, however it is broken, and where each unit of it is. */
function lineAround(terminal: Terminal, row: number): { text: string; places: Place[] } {
  const buffer = terminal.buffer.active;
  const goesOn = (at: number) => isContinued(buffer.getLine(at), buffer.getLine(at + 1));
  let first = row;
  while (first > 0 && row - first < LINES_MAX && goesOn(first - 1)) first -= 1;
  let text = "";
  const places: Place[] = [];
  for (let at = first; at - first < 2 * LINES_MAX; at += 1) {
    const line = buffer.getLine(at);
    if (line === undefined) break;
    for (let x = 0; x < line.length; x += 1) {
      const cell = line.getCell(x);
      // The second half of a wide letter is no letter.
      if (cell === undefined || cell.getWidth() === 0) continue;
      const letters = cell.getChars() || " ";
      for (let unit = 0; unit < letters.length; unit += 1) places.push({ x: x + 1, y: at + 1 });
      text += letters;
    }
    if (!goesOn(at)) break;
  }
  return { text, places };
}

/** Returns whether a line goes on in the next: it was broken there, or is full, which a whole screen does not tell apart. */
function isContinued(line: IBufferLine | undefined, next: IBufferLine | undefined): boolean {
  if (line === undefined || next === undefined) return false;
  const last = line.getCell(line.length - 1);
  const isFull = last !== undefined && (last.getWidth() === 0 || last.getChars().trim() !== "");
  return next.isWrapped || isFull;
}
