/** Makes pictures small enough to be kept in a repository: each with no more than 256 colours. */

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;

/** A picture as it is: one colour a pixel, as 0xRRGGBB. */
type Picture = { width: number; height: number; pixels: Uint32Array };

/** Returns a PNG of a browser with those of its colours that the others are near to. */
export function reduced(png: Buffer): Buffer {
  const picture = decoded(png);
  const palette = paletteOf(picture.pixels);
  return encoded(picture, palette, nearestOf(palette));
}

/** Reads a PNG with a byte a channel, without transparency or with it, which is left out. */
function decoded(png: Buffer): Picture {
  const header = chunks(png).find(({ type }) => type === "IHDR")?.data ?? Buffer.alloc(0);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const bytes = header[9] === 6 ? 4 : 3;
  const packed = chunks(png).filter(({ type }) => type === "IDAT");
  const rows = inflateSync(Buffer.concat(packed.map(({ data }) => data)));
  const pixels = new Uint32Array(width * height);
  let above: Uint8Array = new Uint8Array(width * bytes);
  for (let y = 0; y < height; y += 1) {
    const start = y * (width * bytes + 1);
    const row = rows.subarray(start + 1, start + 1 + width * bytes);
    unfilter(rows[start] ?? 0, row, above, bytes);
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = row.readUIntBE(x * bytes, 3);
    above = row;
  }
  return { width, height, pixels };
}

function chunks(png: Buffer): Array<{ type: string; data: Buffer }> {
  const found = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    found.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

/** Takes back in a row what was foretold of it by its neighbours. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, bytes: number): void {
  for (let at = 0; at < row.length; at += 1) {
    const left = at < bytes ? 0 : (row[at - bytes] ?? 0);
    const up = above[at] ?? 0;
    const corner = at < bytes ? 0 : (above[at - bytes] ?? 0);
    row[at] = (row[at] ?? 0) + foretold(filter, left, up, corner);
  }
}

function foretold(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4:
      return paeth(left, up, corner);
    default:
      throw new Error(`there is no filter ${filter}`);
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [up - corner, left - corner, left + up - 2 * corner].map(
    Math.abs,
  ) as [number, number, number];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

/** Returns so few colours that each pixel is as near to one of them as can be, however rare it is. */
function paletteOf(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const often = [...counts].sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  for (let distance = 0; ; distance += 1) {
    const palette: number[] = [];
    for (const [colour] of often) {
      if (palette.every((other) => apart(colour, other) > distance ** 2)) palette.push(colour);
      if (palette.length > COLOURS_MAX) break;
    }
    if (palette.length <= COLOURS_MAX) return palette;
  }
}

/** Returns what tells the place in the palette of the colour that is most like another. */
function nearestOf(palette: ReadonlyArray<number>): (colour: number) => number {
  const known = new Map(palette.map((colour, at) => [colour, at]));
  return (colour) => {
    const found = known.get(colour);
    if (found !== undefined) return found;
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (const [at, other] of palette.entries()) {
      const distance = apart(colour, other);
      if (distance < least) [best, least] = [at, distance];
    }
    known.set(colour, best);
    return best;
  };
}

function apart(one: number, other: number): number {
  const channel = (shift: number) => ((one >> shift) & 255) - ((other >> shift) & 255);
  return channel(16) ** 2 + channel(8) ** 2 + channel(0) ** 2;
}

function encoded(
  { width, height, pixels }: Picture,
  palette: ReadonlyArray<number>,
  place: (colour: number) => number,
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  const colours = Buffer.alloc(palette.length * 3);
  for (const [at, colour] of palette.entries()) colours.writeUIntBE(colour, at * 3, 3);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + 1 + x] = place(pixels[y * width + x] ?? 0);
    }
  }
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
