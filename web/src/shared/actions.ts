/** What the palette offers: each feature says what can be done, by itself or for as long as a page is open. */

import type { LucideIcon } from "lucide-react";
import { useEffect, useRef } from "react";

export type Action = {
  id: string;
  title: string;
  /** The heading that it is listed under. */
  group: string;
  /** Other words by which it is found. */
  keywords?: ReadonlyArray<string>;
  /** The keys that do the same, as in a shortcut. */
  keys?: string;
  icon?: LucideIcon;
  run: () => void;
  /** What is chosen from next, instead of running it: to whom, for instance. */
  more?: () => ReadonlyArray<Action>;
};

type Source = () => ReadonlyArray<Action>;

const sources = new Set<Source>();

/** Has the palette offer what `source` returns when it is opened. Returns how to end that. */
export function offerActions(source: Source): () => void {
  sources.add(source);
  return () => sources.delete(source);
}

/** Has the palette offer actions for as long as a component is there, before those of the whole app. */
export function useActions(actions: ReadonlyArray<Action>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => offerActions(() => latest.current), []);
}

/** Returns all that can be done now; what was offered last is first. */
export function allActions(): Action[] {
  const found = new Map<string, Action>();
  for (const source of [...sources].reverse()) {
    for (const action of source()) if (!found.has(action.id)) found.set(action.id, action);
  }
  return [...found.values()];
}
