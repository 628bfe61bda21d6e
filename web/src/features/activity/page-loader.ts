/** Asks for pages of the log as they come into sight: only a few at once, and none that were scrolled past. */

import type { Events } from "../../wire";

const AT_ONCE_MAX = 2;

export type PageLoader = {
  /** Says which pages are wanted now, the likeliest first. Others are not asked for any more. */
  want: (pages: ReadonlyArray<number>) => void;
};

type Told = {
  ask: (page: number) => Promise<Events>;
  onPage: (page: number, answer: Events) => void;
  /** A page that is still wanted could not be read. */
  onError: (error: unknown) => void;
  /** No page is wanted: what could not be read is missed by nobody. */
  onNone: () => void;
};

/** Returns what asks for pages. One that could not be read is asked for again when it is next wanted. */
export function pageLoader({ ask, onPage, onError, onNone }: Told): PageLoader {
  let wanted: number[] = [];
  const asked = new Set<number>();
  const turn = () => {
    while (asked.size < AT_ONCE_MAX) {
      const page = wanted.find((one) => !asked.has(one));
      if (page === undefined) return;
      asked.add(page);
      const done = () => {
        asked.delete(page);
        wanted = wanted.filter((one) => one !== page);
      };
      ask(page).then(
        (answer) => {
          done();
          onPage(page, answer);
          turn();
        },
        (error) => {
          const isMissed = wanted.includes(page);
          done();
          if (!isMissed) {
            turn();
            return;
          }
          wanted = [];
          onError(error);
        },
      );
    }
  };
  return {
    want(pages) {
      wanted = [...pages];
      if (wanted.length === 0) onNone();
      turn();
    },
  };
}
