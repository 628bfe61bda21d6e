/** What the palette offers on every page: the places, the theme, and what each feature adds. */

import { Folder, Keyboard, Link, Monitor, Moon, Sun } from "lucide-react";
import { activityActions } from "../features/activity/actions";
import { agentActions } from "../features/agent/actions";
import { fleetActions } from "../features/fleet/actions";
import { healthActions } from "../features/health/actions";
import { messageActions } from "../features/messages/actions";
import { settingsActions } from "../features/settings/actions";
import { getFleet } from "../feed/store";
import { type Action, offerActions } from "../shared/actions";
import { copyAndSay } from "../shared/clipboard";
import { go } from "../shared/go";
import { setTheme } from "../shared/theme";
import { openShortcuts } from "./opened";
import { PLACES } from "./places";

/** Has the palette offer everything. What is said last is listed first. */
export function offerAll(): void {
  offerActions(ownActions);
  offerActions(healthActions);
  offerActions(activityActions);
  offerActions(settingsActions);
  offerActions(messageActions);
  offerActions(fleetActions);
  offerActions(agentActions);
  offerActions(placeActions);
}

function placeActions(): Action[] {
  const places = PLACES.map(({ to, name, icon, keys }) => ({
    id: `go ${to}`,
    title: name,
    group: "Go to",
    keys,
    icon,
    run: () => go({ to }),
  }));
  const known = [...(getFleet()?.projects.values() ?? [])];
  known.sort((one, other) => one.name.localeCompare(other.name));
  const projects = known.map(({ id, name }) => ({
    id: `go project ${id}`,
    title: `Project ${name}`,
    group: "Go to",
    icon: Folder,
    run: () => go({ to: "/projects/$project", params: { project: id } }),
  }));
  return [...places, ...projects];
}

function ownActions(): Action[] {
  const group = "Dashboard";
  return [
    { id: "theme light", title: "Light theme", group, icon: Sun, run: () => setTheme("light") },
    { id: "theme dark", title: "Dark theme", group, icon: Moon, run: () => setTheme("dark") },
    {
      id: "theme system",
      title: "Theme of the system",
      group,
      icon: Monitor,
      run: () => setTheme("system"),
    },
    {
      id: "copy link",
      title: "Copy link to this page",
      group,
      keywords: ["address", "url", "share"],
      icon: Link,
      run: () => void copyAndSay(location.href, "The link"),
    },
    {
      id: "shortcuts",
      title: "Keyboard shortcuts",
      group,
      keys: "?",
      icon: Keyboard,
      run: openShortcuts,
    },
  ];
}
