/** What the address of the activity log holds. */

import { word } from "../../shared/search";

export type ActivitySearch = {
  project?: string | undefined;
  agent?: string | undefined;
  /** A kind of event, or all that begin so if it ends with a dot. */
  kind?: string | undefined;
  q?: string | undefined;
  /** The event that is open. */
  at?: number | undefined;
};

/** Returns the address of an event, without the filters that it was found by. */
export function addressOf(event: number): string {
  return `/activity?at=${event}`;
}

export function activitySearch(search: Record<string, unknown>): ActivitySearch {
  const at = Number(word(search, "at"));
  return {
    project: word(search, "project"),
    agent: word(search, "agent"),
    kind: word(search, "kind"),
    q: word(search, "q"),
    at: Number.isSafeInteger(at) && at > 0 ? at : undefined,
  };
}
