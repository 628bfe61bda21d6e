/** The bar at the foot of a narrow screen, in the rail's place. */

import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { openPalette } from "./opened";
import { PLACES } from "./places";
import { PlaceCount } from "./rail";

const ITEM =
  "relative flex min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-[0.6875rem] leading-3 text-quiet " +
  "data-[status=active]:font-medium data-[status=active]:text-accent";

/** What is not here is in the palette. */
const SHOWN = PLACES.filter(({ to }) => to !== "/settings");

export function TabBar() {
  return (
    <nav
      aria-label="Main"
      className="flex h-14 shrink-0 border-t border-edge bg-sunken pb-[env(safe-area-inset-bottom)] rail:hidden"
    >
      {SHOWN.map(({ to, name, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          className={ITEM}
        >
          <Icon aria-hidden size={18} />
          <span>{name}</span>
          <span className="absolute top-0.5 left-1/2 ml-1 scale-90">
            <PlaceCount to={to} />
          </span>
        </Link>
      ))}
      <button type="button" onClick={openPalette} className={ITEM}>
        <Search aria-hidden size={18} />
        <span>More</span>
      </button>
    </nav>
  );
}
