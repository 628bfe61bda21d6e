/** How wide the screen is, for what a style sheet cannot say. */

import { useSyncExternalStore } from "react";

/** Returns what tells whether a query about the screen is met, and again when that changes. */
function watching(query: string): () => boolean {
  const media = matchMedia(query);
  const subscribe = (listener: () => void) => {
    media.addEventListener("change", listener);
    return () => media.removeEventListener("change", listener);
  };
  return () => useSyncExternalStore(subscribe, () => media.matches);
}

/** Whether it is as narrow as a phone's: under 720 px. */
export const useIsNarrow = watching("(max-width: 719.98px)");

/** Whether there is room for columns, or for two things side by side. */
export const useIsWide = watching("(min-width: 68rem)");

/** Whether there is room for two things side by side that both want much. */
export const useIsVeryWide = watching("(min-width: 120rem)");
