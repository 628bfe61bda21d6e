/** Whether the conversation stands beside the terminal: if there is room, and the person wants it. */

import { useCallback, useState, useSyncExternalStore } from "react";
import { readStored, writeStored } from "../../shared/theme";

const KEY = "cmux.agent.beside";

/** From here on there is room for both; from there on, both are readable without being asked for. */
const ROOM = matchMedia("(min-width: 68rem)");
const PLENTY = matchMedia("(min-width: 120rem)");

function subscribe(listener: () => void): () => void {
  for (const width of [ROOM, PLENTY]) width.addEventListener("change", listener);
  return () => {
    for (const width of [ROOM, PLENTY]) width.removeEventListener("change", listener);
  };
}

/** Returns whether it stands there and how to change that, or nothing where there is no room. */
export function useBeside(): { isOpen: boolean; toggle: () => void } | null {
  const hasRoom = useSyncExternalStore(subscribe, () => ROOM.matches);
  const hasPlenty = useSyncExternalStore(subscribe, () => PLENTY.matches);
  const [chosen, setChosen] = useState(() => readStored(KEY));
  const isOpen = chosen === null ? hasPlenty : chosen === "yes";
  const toggle = useCallback(() => {
    const next = isOpen ? "no" : "yes";
    writeStored(KEY, next);
    setChosen(next);
  }, [isOpen]);
  return hasRoom ? { isOpen, toggle } : null;
}
