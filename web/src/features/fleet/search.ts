/** What the address of the fleet holds. */

import { word } from "../../shared/search";

export type FleetSearch = {
  /** Which agents are shown: those whose name, role or kind has this in it. */
  q?: string | undefined;
  /** The dialog that asks for a new agent is open if it is `agent`. */
  new?: string | undefined;
};

export function fleetSearch(search: Record<string, unknown>): FleetSearch {
  return { q: word(search, "q"), new: word(search, "new") };
}
