/** Whether what is on screen is how things are. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { callAll } from "./listeners";

export type Live =
  /** Nothing is known yet. */
  | { is: "starting" }
  | { is: "live" }
  /** It is connected, and is told what happened meanwhile. */
  | { is: "behind" }
  /** There is no connection. What is shown was known at `knownAt`, in milliseconds since 1970. */
  | { is: "reconnecting"; knownAt: number }
  /** This browser is not let in. */
  | { is: "signed-out" };

let live: Live = { is: "starting" };
const listeners = new Set<() => void>();

export function getLive(): Live {
  return live;
}

export function setLive(next: Live): void {
  // Once it is out, only a new page brings it back in.
  if (live.is === "signed-out") return;
  if (next.is === live.is && next.is !== "reconnecting") return;
  live = next;
  callAll(listeners);
}

/** Has `then` called whenever what is shown has become how things are. Returns how to end that. */
export function onLive(then: () => void): () => void {
  let wasLive = live.is === "live";
  return subscribe(() => {
    const isLive = live.is === "live";
    const hasBecome = isLive && !wasLive;
    wasLive = isLive;
    if (hasBecome) then();
  });
}

/** Has `then` called whenever what is shown has become how things are, for as long as a component is there. */
export function useOnLive(then: () => void): void {
  const latest = useRef(then);
  latest.current = then;
  useEffect(() => onLive(() => latest.current()), []);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns whether what is shown is how things are, and again when that changes. */
export function useLive(): Live {
  return useSyncExternalStore(subscribe, getLive);
}
