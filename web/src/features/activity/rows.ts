/** What a list of events is made of, whether it is the whole log or what a filter leaves. */

import type { Found } from "./page-cache";

export type Rows = {
  count: number;
  /** Returns what is known of a row. */
  find: (index: number) => Found;
  /** Returns the event of a row, if it is known which that is. */
  idOf: (index: number) => number | null;
  /** Returns the row of an event, if it has one. */
  indexOf: (id: number) => number | null;
  /** Is higher by one for each row that was put before the others, so that what is in sight stays there. */
  origin: number;
  /** Told which rows are in sight. */
  onSight: (from: number, to: number) => void;
  /** Whether the last row is the newest event, so that it can be followed. */
  hasNewest: boolean;
  error: unknown;
  retry: () => void;
};
