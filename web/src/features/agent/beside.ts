/** Whether the conversation stands beside the terminal: if there is room, and the person wants it. */

import { useCallback, useState } from "react";
import { useIsVeryWide, useIsWide } from "../../shared/narrow";
import { readStored, writeStored } from "../../shared/theme";

const KEY = "cmux.agent.beside";

/** Returns whether it stands there and how to change that, or nothing where there is no room. */
export function useBeside(): { isOpen: boolean; toggle: () => void } | null {
  const hasRoom = useIsWide();
  // There, both are readable without being asked for.
  const hasPlenty = useIsVeryWide();
  const [chosen, setChosen] = useState(() => readStored(KEY));
  const isOpen = chosen === null ? hasPlenty : chosen === "yes";
  const toggle = useCallback(() => {
    const next = isOpen ? "no" : "yes";
    writeStored(KEY, next);
    setChosen(next);
  }, [isOpen]);
  return hasRoom ? { isOpen, toggle } : null;
}
