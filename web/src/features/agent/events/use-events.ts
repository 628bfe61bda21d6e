/** The log of one agent, newest first, which goes on by itself. */

import { useCallback, useEffect, useRef, useState } from "react";
import { listEvents } from "../../../api/routes";
import { useOnLive } from "../../../feed/live";
import { useNews } from "../../../feed/store";
import { cropped, isFull, NOTHING, type Shown, withNews, withPage } from "./pages";

const PAGE = 100;

export type AgentEvents = Shown & {
  isKnown: boolean;
  isComing: boolean;
  error: unknown;
  older: () => void;
  /** Asks again for what could not be read. */
  again: () => void;
  /** Keeps no more than the newest, whose older ones are asked for again when they are wanted. */
  crop: () => void;
};

/** Returns the events of an agent, and again when there are more. */
export function useEvents(agent: string): AgentEvents {
  const [shown, setShown] = useState(NOTHING);
  const [asking, setAsking] = useState<{ isComing: boolean; isKnown: boolean; error: unknown }>({
    isComing: true,
    isKnown: false,
    error: null,
  });
  /** Counts how often it began, so that what was asked for before is not shown. */
  const begun = useRef(0);

  const ask = useCallback(
    async (before: number | null) => {
      const mine = begun.current;
      setAsking((was) => ({ ...was, isComing: true, error: null }));
      try {
        const wanted = { agent, limit: PAGE, ...(before === null ? {} : { before }) };
        const page = await listEvents(wanted);
        if (mine !== begun.current) return;
        setShown((was) => withPage(was, page));
        setAsking({ isComing: false, isKnown: true, error: null });
      } catch (error) {
        if (mine === begun.current) setAsking({ isComing: false, isKnown: true, error });
      }
    },
    [agent],
  );

  const begin = useCallback(() => {
    begun.current += 1;
    setShown(NOTHING);
    void ask(null);
  }, [ask]);

  useEffect(begin, [begin]);
  useNews((news) => {
    switch (news.what) {
      case "events": {
        const own = news.events.filter((event) => event.agent === agent);
        if (own.length > 0) setShown((was) => withNews(was, own));
        return;
      }
      case "reset":
        begin();
        return;
    }
  });
  const { before } = shown;
  const older = () => {
    if (!asking.isComing && before !== null && !isFull(shown)) void ask(before);
  };
  // Before the first page came, there is no place to go on from.
  const again = before === null ? begin : older;
  useOnLive(() => {
    if (asking.error !== null) again();
  });
  const crop = useCallback(() => setShown((was) => cropped(was)), []);
  return { ...shown, ...asking, older, again, crop };
}
