/** The whole log as rows: ids follow one another, so that a row is known before its event is. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { listEvents } from "../../api/routes";
import { fields, number } from "../../feed/data";
import { getFleet, useNews } from "../../feed/store";
import type { Event } from "../../wire";
import { idsOf, PAGE_SIZE, PageCache, pagesOf } from "./page-cache";
import { pageLoader } from "./page-loader";
import type { Rows } from "./rows";
import { SPAN_MAX, type Span, spanOf } from "./window";

export type WholeLog = Rows & {
  /** The oldest event that the log has, once that is known. */
  first: number | null;
  /** Shows an older or a newer stretch, where the log is too long to be laid out at once. */
  older: (() => void) | null;
  newer: (() => void) | null;
  /** Shows the newest stretch. */
  newest: () => void;
};

const head = () => getFleet()?.head ?? 0;

/** Returns the rows of the whole log, around the event `at` if that is asked for. */
export function useWholeLog(at: number | undefined, isWanted: boolean): WholeLog {
  const cache = useRef(new PageCache());
  const { first, span, setSpan, begin, failed } = useSpan(cache.current, at, isWanted);
  const { load, see, version, error } = usePages(cache.current, span);
  return useMemo(() => {
    // What the cache holds is another thing after each version.
    void version;
    const around = (id: number | undefined) => () =>
      setSpan(spanOf(first ?? span.first, head(), id));
    return {
      first,
      count: Math.max(0, span.last - span.first + 1),
      find: (index) => cache.current.find(span.first + index),
      idOf: (index) => span.first + index,
      indexOf: (id) => (id >= span.first && id <= span.last ? id - span.first : null),
      origin: -span.first,
      onSight: see,
      hasNewest: span.last >= head(),
      error: failed ?? error,
      retry: () => (first === null ? begin() : load()),
      older: first !== null && span.first > first ? around(span.first) : null,
      newer: first !== null && span.last < head() ? around(span.last) : null,
      newest: around(undefined),
    };
  }, [span, setSpan, version, first, failed, error, load, see, begin]);
}

/** The stretch of the log that is laid out, which grows as events come, and where the log begins. */
function useSpan(cache: PageCache, at: number | undefined, isWanted: boolean) {
  const [first, setFirst] = useState<number | null>(null);
  const [span, setSpan] = useState<Span>(() => ({ first: head() + 1, last: head() }));
  const [failed, setFailed] = useState<unknown>(null);
  const start = useRef(at);
  const begin = useCallback(() => {
    setFailed(null);
    // The first event tells where the log begins: what was before may be archived.
    listEvents({ since: 0, limit: 1 }).then(({ events, head: newest }) => {
      const oldest = events[0]?.id ?? newest + 1;
      setFirst(oldest);
      setSpan(spanOf(oldest, Math.max(newest, head()), start.current));
    }, setFailed);
  }, []);
  useEffect(() => {
    if (isWanted && first === null) begin();
  }, [isWanted, first, begin]);
  const lose = (through: number) => {
    if (first === null || through < first) return;
    setFirst(through + 1);
    setSpan((old) => ({ ...old, first: Math.max(old.first, through + 1) }));
  };
  useNews((news) => {
    switch (news.what) {
      case "events":
        cache.append(news.events);
        setSpan((old) => grown(old, news.events[0]?.id ?? 0, news.events.at(-1)?.id ?? 0));
        lose(archivedThrough(news.events));
        return;
      case "reset":
        cache.clear();
        setFirst(null);
        return;
    }
  });
  return { first, span, setSpan, begin, failed };
}

/** Has the pages in sight asked for. `version` is another after each that came. */
function usePages(cache: PageCache, span: Span) {
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const sight = useRef({ from: 0, to: 0 });
  const loader = useMemo(
    () =>
      pageLoader({
        ask: (page) => listEvents({ since: idsOf(page).since, limit: PAGE_SIZE }),
        onPage: (page, answer) => {
          cache.fill(page, answer.events, answer.head);
          setError(null);
          setVersion((old) => old + 1);
        },
        onError: setError,
        onNone: () => setError(null),
      }),
    [cache],
  );
  const load = useCallback(() => {
    const { from, to } = sight.current;
    if (to <= from) return;
    const pages = pagesOf(span.first + from, span.first + to - 1);
    for (const page of pages) cache.touch(page);
    loader.want(pages.filter((page) => !cache.has(page, span.last)));
  }, [cache, span, loader]);
  // An event may have come while its page was on the way without it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is done after each page.
  useEffect(() => load(), [version, load]);
  const see = useCallback(
    (from: number, to: number) => {
      sight.current = { from, to };
      load();
    },
    [load],
  );
  return { load, see, version, error };
}

/** Returns up to where the log was archived by one of these events; 0 if it was not. */
export function archivedThrough(events: ReadonlyArray<Event>): number {
  const told = events.filter(({ kind }) => kind === "log.archived");
  return Math.max(0, ...told.map(({ data }) => number(fields(data), "through") ?? 0));
}

/** Returns the stretch with new events, if it went up to them. It may get somewhat longer than it began. */
function grown(span: Span, from: number, to: number): Span {
  if (from > span.last + 1 || to <= span.last) return span;
  const first = to - span.first > 2 * SPAN_MAX ? to - SPAN_MAX : span.first;
  return { first, last: to };
}
