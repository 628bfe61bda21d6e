/** Whether the screen is as narrow as a phone's, for heights that a style sheet cannot say. */

import { useSyncExternalStore } from "react";

const NARROW = matchMedia("(max-width: 719.98px)");

function subscribe(listener: () => void): () => void {
  NARROW.addEventListener("change", listener);
  return () => NARROW.removeEventListener("change", listener);
}

/** Returns whether it is under 720 px wide, and again when that changes. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}
