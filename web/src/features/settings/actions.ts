/** What the palette offers of the settings on every page. */

import { Bell, LogOut } from "lucide-react";
import type { Action } from "../../shared/actions";
import { getNotify, setNotify } from "../../shared/notify";
import { leave } from "./leave";

export function settingsActions(): Action[] {
  const group = "Dashboard";
  const isOn = getNotify() === "on";
  return [
    {
      id: "notify",
      title: isOn ? "Turn notifications off" : "Turn notifications on",
      group,
      icon: Bell,
      run: () => void setNotify(!isOn),
    },
    {
      id: "sign out",
      title: "Sign out",
      group,
      keywords: ["log out", "leave"],
      icon: LogOut,
      run: () => void leave(),
    },
  ];
}
