/** Keeps up to date why an agent is taken to be in its phase. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useNews } from "../../feed/store";

/** It is asked again at most so often. */
const APART_MS = 1_000;

/** Has it asked for again after what may have changed it. */
export function useAskedAgain(id: string): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useNews((news) => {
    const isAbout =
      news.what === "reset" ||
      (news.what === "events" && news.events.some((event) => event.agent === id));
    if (!isAbout || timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ queryKey: ["why", id] });
    }, APART_MS);
  });
  useEffect(() => {
    return () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, []);
}
