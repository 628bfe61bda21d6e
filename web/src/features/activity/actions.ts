/** What the palette offers of the log on every page: each part of it that people look for. */

import { Activity } from "lucide-react";
import type { Action } from "../../shared/actions";
import { go } from "../../shared/go";
import { FAMILIES } from "./filter";

export function activityActions(): Action[] {
  const more = () =>
    FAMILIES.map(
      ({ value, label }): Action => ({
        id: `log ${value}`,
        title: label,
        group: "Show which events?",
        keywords: [value],
        icon: Activity,
        run: () => go({ to: "/activity", search: { kind: value } }),
      }),
    );
  return [
    {
      id: "log",
      title: "Show events of a kind…",
      group: "Activity",
      keywords: ["log", "filter", "events"],
      icon: Activity,
      run: () => {},
      more,
    },
  ];
}
