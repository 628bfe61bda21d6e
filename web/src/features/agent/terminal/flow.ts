/** Hands bytes to a terminal no faster than it draws them. */

/** How much a terminal is given before it has drawn what it was given, in bytes. */
export const DRAWING_MAX = 256 << 10;

/** How much is held back for a terminal that is slower than its agent, in bytes. After that it begins anew. */
export const HELD_MAX = 8 << 20;

/** How much is given in one go, in bytes. */
const PIECE_MAX = 64 << 10;

/** Draws bytes, and calls `done` when that is done. */
export type Draw = (bytes: Uint8Array, done: () => void) => void;

export type Flow = {
  take(bytes: Uint8Array): void;
  /** Forgets what is held back: something whole is about to come. */
  drop(): void;
  /** Returns whether all that was taken is drawn. */
  isDone(): boolean;
};

/**
 * Returns a flow into `draw`. If more is held back than is worth it, all of that is forgotten and `overrun`
 * is called, which is to ask for the whole screen.
 */
export function flowInto(draw: Draw, overrun: () => void): Flow {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let drawing = 0;
  const drop = () => {
    held = [];
    heldBytes = 0;
  };
  const give = () => {
    while (drawing < DRAWING_MAX) {
      const piece = held.shift();
      if (piece === undefined) return;
      heldBytes -= piece.length;
      drawing += piece.length;
      draw(piece, () => {
        drawing -= piece.length;
        give();
      });
    }
  };
  return {
    take(bytes) {
      for (let at = 0; at < bytes.length; at += PIECE_MAX) {
        held.push(bytes.subarray(at, at + PIECE_MAX));
      }
      heldBytes += bytes.length;
      give();
      if (heldBytes <= HELD_MAX) return;
      drop();
      overrun();
    },
    drop,
    isDone: () => heldBytes === 0 && drawing === 0,
  };
}
