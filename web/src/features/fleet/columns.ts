/** Where the parts of an agent are: in columns on a wide screen, and else in two lines. */

/** The columns, the same in the head and in each row. */
export const COLUMNS =
  "wide:grid wide:items-center wide:gap-x-3 wide:pr-4 wide:pl-10 " +
  "wide:grid-cols-[minmax(8rem,20rem)_5.5rem_11.5rem_minmax(7rem,1fr)_3rem_8.5rem_2rem]";

const FLOWS = "wide:[grid-area:auto]";

/** Where each part is in two lines; on a wide screen it flows into its column. */
export const CELLS = {
  who: `[grid-area:1/1] ${FLOWS}`,
  phase: `[grid-area:1/2/auto/5] ${FLOWS}`,
  waits: `[grid-area:2/1/auto/3] ${FLOWS}`,
  queue: `[grid-area:2/3] ${FLOWS}`,
  menu: `[grid-area:2/4] ${FLOWS}`,
};
