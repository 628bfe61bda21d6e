/** The shortcuts that work on every page. */

import { type ParsedLocation, useRouter } from "@tanstack/react-router";
import { messagesSearch } from "../features/messages/search";
import { go } from "../shared/go";
import { type Shortcut, useShortcuts } from "../shared/keys";
import { openShortcuts, togglePalette } from "./opened";
import { PLACES } from "./places";

export function GlobalKeys() {
  const router = useRouter();
  const places: Shortcut[] = PLACES.map(({ to, name, keys }) => ({
    keys,
    label: `Go to ${name}`,
    group: "Go",
    run: () => go({ to }),
  }));
  const shortcuts: Shortcut[] = [
    { keys: "mod+k", label: "Do anything", group: "Everywhere", run: togglePalette },
    { keys: "?", label: "Show the shortcuts", group: "Everywhere", run: openShortcuts },
    {
      keys: "c",
      label: "Write a message",
      group: "Everywhere",
      run: () => write(router.state.location),
    },
    {
      keys: "escape",
      label: "Go back",
      group: "Everywhere",
      run: () => {
        if (router.history.canGoBack()) router.history.back();
      },
    },
    ...places,
  ];
  useShortcuts(shortcuts, "everywhere");
  return null;
}

type Place = Pick<ParsedLocation, "pathname" | "search">;

/** Opens the composer, over what is open among the messages if that is where the person is. */
function write({ pathname, search }: Place): void {
  const isThere = pathname === "/messages";
  const kept = isThere ? messagesSearch(search) : {};
  go({ to: "/messages", search: { ...kept, compose: "new" }, resetScroll: !isThere });
}
