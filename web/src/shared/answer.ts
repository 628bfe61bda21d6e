/** The wish to answer what an agent asks on its screen: its terminal is opened, and takes the keys of the person. */

import { useEffect, useRef } from "react";
import type { Agent } from "../wire";
import { go } from "./go";

/** How long a terminal may take to come. Whoever opens one later only watches. */
const COMES_WITHIN_MS = 30_000;

let wish: { agent: string; at: number } | null = null;
const listeners = new Set<() => void>();

/** Goes to the terminal of an agent with the wish to type into it. */
export function answer(agent: Agent): void {
  wish = { agent: agent.id, at: performance.now() };
  go({ to: "/agents/$agent", params: { agent: agent.id }, search: { tab: "terminal" } });
  for (const listener of listeners) listener();
}

/** Calls `then` once for each such wish, for as long as the terminal of that agent is there. */
export function useAnswering(id: string, then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => {
    const look = () => {
      if (wish === null) return;
      const isMeant = wish.agent === id && performance.now() - wish.at < COMES_WITHIN_MS;
      if (wish.agent === id) wish = null;
      if (isMeant) latest.current();
    };
    look();
    listeners.add(look);
    return () => {
      listeners.delete(look);
    };
  }, [id]);
}
