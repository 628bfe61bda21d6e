/** What the palette offers of this feature on every page. It is asked each time the palette is opened. */

import type { Action } from "../../shared/actions";

export function healthActions(): Action[] {
  return [];
}
