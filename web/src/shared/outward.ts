/** Which addresses in somebody's text are links. Pure. */

const OUTWARD = /^(https?:\/\/|mailto:)/i;

/** Returns whether an address leads elsewhere: to a page of another origin than `own`, or to somebody's mail. */
export function isOutward(address: string, own: string): boolean {
  if (!OUTWARD.test(address) || !URL.canParse(address)) return false;
  return new URL(address).origin !== own;
}
