/** For texts of which only the beginning is there. */

/** Says that more was said than is shown. */
export function Cut({ isCut }: { isCut: boolean }) {
  if (!isCut) return null;
  return <p className="mt-1 text-xs text-faint">… Only the beginning is shown: it is very long.</p>;
}
