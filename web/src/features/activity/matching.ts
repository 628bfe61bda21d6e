/** The events that a filter leaves as rows: found by the daemon backwards from the newest, and followed live. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { listEvents } from "../../api/routes";
import { getFleet, useNews } from "../../feed/store";
import { type Filter, fits } from "./filter";
import {
  MATCHES_MAX,
  MATCHES_PAGE,
  type Matches,
  noMatches,
  withNewer,
  withOlder,
} from "./matches";
import type { Rows } from "./rows";

export type Matching = Rows & {
  /** Whether it is being looked for more. */
  isLooking: boolean;
  /** The oldest event that was looked at. */
  scannedFrom: number;
  /** Whether the whole log was looked at. */
  isAll: boolean;
  /** Whether there were too many to keep. */
  isFull: boolean;
};

/** How near the first row has to be in sight for older ones to be looked for. */
const NEAR_ROWS = 30;

const nameOf = (agent: string) => getFleet()?.agents.get(agent)?.name ?? "";
const nothing = () => noMatches(getFleet()?.head ?? 0);

type State = { matches: Matches; isLooking: boolean; error: unknown; isBegun: boolean };

/** Returns the rows of what `filter` leaves. */
export function useMatching(filter: Filter, isWanted: boolean): Matching {
  const { project, agent, kind, q } = filter;
  const wanted = useMemo(() => ({ project, agent, kind, q }), [project, agent, kind, q]);
  const sight = useRef(0);
  const { state, latest, look } = useLooking(wanted, isWanted);
  const { matches, isLooking, error, isBegun } = state;
  // What was found may not fill the screen.
  useEffect(() => {
    if (isBegun && !isLooking && error === null && sight.current < NEAR_ROWS) look();
  }, [isBegun, isLooking, error, look]);
  return useMemo(() => {
    const { events, next, scannedFrom, origin } = matches;
    return {
      count: events.length,
      find: (index) => events[index] ?? "unknown",
      idOf: (index) => events[index]?.id ?? null,
      indexOf: (id) => {
        const index = events.findIndex((event) => event.id === id);
        return index === -1 ? null : index;
      },
      origin,
      onSight: (from) => {
        sight.current = from;
        if (from < NEAR_ROWS && latest.current.isBegun && latest.current.error === null) look();
      },
      hasNewest: true,
      error,
      retry: look,
      isLooking: isLooking || !isBegun,
      scannedFrom,
      isAll: isBegun && next === null && events.length < MATCHES_MAX,
      isFull: events.length >= MATCHES_MAX,
    };
  }, [matches, isLooking, isBegun, error, look, latest]);
}

/** What was found so far. `look` has more looked for, unless that is under way or there is no more. */
function useLooking(wanted: Filter, isWanted: boolean) {
  const [state, setState] = useState<State>(begun);
  const asking = useRef<AbortController | null>(null);
  const latest = useRef(state);
  latest.current = state;
  const look = useCallback(() => {
    const { matches, isBegun } = latest.current;
    if (asking.current !== null || matches.next === null) return;
    const abort = new AbortController();
    asking.current = abort;
    const answered = (change: (old: State) => State) => {
      if (abort.signal.aborted) return;
      asking.current = null;
      setState(change);
    };
    setState((old) => ({ ...old, isLooking: true, error: null }));
    const before = isBegun ? matches.next : undefined;
    listEvents({ ...wanted, before, limit: MATCHES_PAGE }, abort.signal).then(
      (answer) =>
        answered(({ matches }) => {
          const more = withOlder(matches, answer);
          return { matches: more, isLooking: false, error: null, isBegun: true };
        }),
      (error: unknown) => answered((old) => ({ ...old, isLooking: false, error })),
    );
  }, [wanted]);
  const begin = useCallback(() => {
    asking.current?.abort();
    asking.current = null;
    latest.current = begun();
    setState(latest.current);
    look();
  }, [look]);
  useEffect(() => {
    if (!isWanted) return;
    begin();
    return () => asking.current?.abort();
  }, [isWanted, begin]);
  useNews((news) => {
    if (!isWanted) return;
    switch (news.what) {
      case "events": {
        const found = news.events.filter((event) => fits(event, wanted, nameOf));
        if (found.length === 0) return;
        setState((old) => ({ ...old, matches: withNewer(old.matches, found) }));
        return;
      }
      case "reset":
        begin();
        return;
    }
  });
  return { state, latest, look };
}

function begun(): State {
  return { matches: nothing(), isLooking: true, error: null, isBegun: false };
}
