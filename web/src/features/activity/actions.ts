/** What the palette offers of the log: each part of it that people look for, and what can be done to what is shown. */

import { Activity, Link, X } from "lucide-react";
import type { Action } from "../../shared/actions";
import { copyAndSay, linkTo } from "../../shared/clipboard";
import { go } from "../../shared/go";
import { FAMILIES, isFiltering } from "./filter";
import { type ActivitySearch, addressOf } from "./search";

const GROUP = "Activity";

/** On every page. */
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
      group: GROUP,
      keywords: ["log", "filter", "events"],
      icon: Activity,
      run: () => {},
      more,
    },
  ];
}

/** On the page of the log, of which that is shown. */
export function shownActions(search: ActivitySearch, clear: () => void): Action[] {
  const { at } = search;
  const clearing: Action = {
    id: "clear log",
    title: "Clear the filters",
    group: GROUP,
    keywords: ["all", "everything"],
    icon: X,
    run: clear,
  };
  const copying = (event: number): Action => ({
    id: "copy event link",
    title: `Copy link to event ${event}`,
    group: GROUP,
    keywords: ["address", "url", "share"],
    icon: Link,
    run: () => void copyAndSay(linkTo(addressOf(event)), "The link"),
  });
  return [...(isFiltering(search) ? [clearing] : []), ...(at === undefined ? [] : [copying(at)])];
}
