/** The places that the rail, the tab bar, the palette and the shortcuts lead to. */

import {
  Activity,
  HeartPulse,
  Inbox,
  LayoutList,
  type LucideIcon,
  MessagesSquare,
  Settings,
} from "lucide-react";

export type Place = {
  to: "/" | "/inbox" | "/messages" | "/activity" | "/health" | "/settings";
  name: string;
  icon: LucideIcon;
  keys: string;
};

export const PLACES: ReadonlyArray<Place> = [
  { to: "/", name: "Fleet", icon: LayoutList, keys: "g f" },
  { to: "/inbox", name: "Inbox", icon: Inbox, keys: "g i" },
  { to: "/messages", name: "Messages", icon: MessagesSquare, keys: "g m" },
  { to: "/activity", name: "Activity", icon: Activity, keys: "g a" },
  { to: "/health", name: "Health", icon: HeartPulse, keys: "g h" },
  { to: "/settings", name: "Settings", icon: Settings, keys: "g s" },
];
