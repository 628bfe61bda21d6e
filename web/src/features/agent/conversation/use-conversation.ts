/** An agent's conversation, kept up to date by the log. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { showConversation } from "../../../api/routes";
import { useOnLive } from "../../../feed/live";
import { useNews } from "../../../feed/store";
import type { Event } from "../../../wire";
import { type Read, Reader } from "./reader";

const PAGE = 60;

export type Conversing = Read & {
  older: () => void;
  again: () => void;
  /** Says whether the end is followed. */
  follow: (isFollowed: boolean) => void;
};

/** Returns what was said, and again when more was. */
export function useConversation(agent: string, session: string | null): Conversing {
  // Another session is another conversation, whose entries may be called the same.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a session is why it is read anew.
  const reader = useMemo(() => readerOf(agent), [agent, session]);
  useEffect(() => reader.want(), [reader]);
  useNews((news) => {
    switch (news.what) {
      case "events":
        if (news.events.some((event) => event.agent === agent && tellsOfTalk(event))) reader.want();
        return;
      case "reset":
        reader.want();
        return;
    }
  });
  useOnLive(() => reader.again());
  const read = useSyncExternalStore(reader.subscribe, reader.get);
  return useMemo(() => {
    const older = () => void reader.older();
    const follow = (isFollowed: boolean) => reader.follow(isFollowed);
    return { ...read, older, again: () => reader.want(), follow };
  }, [reader, read]);
}

function readerOf(agent: string): Reader {
  const ask = (before: string | null) => showConversation(agent, { before, limit: PAGE });
  return new Reader(ask, (ms, then) => {
    setTimeout(then, ms);
  });
}

/** Returns whether something may have been said when this happened. */
function tellsOfTalk({ kind }: Event): boolean {
  return (
    kind.startsWith("turn.") ||
    kind === "tool.used" ||
    kind === "agent.used" ||
    kind === "agent.phase" ||
    kind === "hook.received"
  );
}
