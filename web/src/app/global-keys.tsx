/** The shortcuts that work on every page. */

import { useRouter } from "@tanstack/react-router";
import { go } from "../shared/go";
import { type Shortcut, useShortcuts } from "../shared/keys";
import { openShortcuts, togglePalette } from "./opened";
import { PLACES } from "./places";

export function GlobalKeys() {
  const { history } = useRouter();
  const places: Shortcut[] = PLACES.map(({ to, name, keys }) => ({
    keys,
    label: `Go to ${name}`,
    group: "Go",
    run: () => go({ to }),
  }));
  useShortcuts([
    { keys: "mod+k", label: "Do anything", group: "Everywhere", run: togglePalette },
    { keys: "?", label: "Show the shortcuts", group: "Everywhere", run: openShortcuts },
    {
      keys: "c",
      label: "Write a message",
      group: "Everywhere",
      run: () => go({ to: "/messages", search: { compose: "new" } }),
    },
    {
      keys: "escape",
      label: "Go back",
      group: "Everywhere",
      run: () => {
        if (history.canGoBack()) history.back();
      },
    },
    ...places,
  ]);
  return null;
}
