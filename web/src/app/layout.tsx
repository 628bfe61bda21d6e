/** The frame around every page: the rail, the banner, and what lies over them. */

import { Outlet } from "@tanstack/react-router";
import { useLive } from "../feed/live";
import { useIsKnown } from "../feed/store";
import { ConfirmHost } from "../shared/confirm";
import { Skeleton } from "../shared/empty";
import { GlobalKeys } from "./global-keys";
import { Palette } from "./palette";
import { Rail } from "./rail";
import { SafeMode } from "./safe-mode";
import { ShortcutSheet } from "./shortcut-sheet";
import { SignedOut } from "./signed-out";
import { StaleBanner } from "./stale-banner";
import { TabBar } from "./tab-bar";
import { Toasts } from "./toasts";

export function Layout() {
  const live = useLive();
  const isKnown = useIsKnown();
  if (live.is === "signed-out") return <SignedOut />;
  if (!isKnown) return <Unknown isLost={live.is === "reconnecting"} />;
  return (
    <div className="flex h-full flex-col rail:flex-row">
      <a
        href="#page"
        className="sr-only rounded-md bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
      >
        Skip to the page
      </a>
      <Rail />
      <main id="page" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
        <SafeMode />
        <div className="min-h-0 flex-1">
          <Outlet />
        </div>
        <StaleBanner />
      </main>
      <TabBar />
      <GlobalKeys />
      <Palette />
      <ShortcutSheet />
      <ConfirmHost />
      <Toasts />
    </div>
  );
}

/** What is shown before the daemon has told anything: the shape of what is to come. */
function Unknown({ isLost }: { isLost: boolean }) {
  return (
    <div className="flex h-full flex-col rail:flex-row" aria-busy={!isLost}>
      <div className="hidden w-60 shrink-0 border-r border-edge bg-sunken rail:block" />
      <main className="flex min-w-0 flex-1 flex-col">
        <div className="flex h-12 shrink-0 items-center border-b border-edge px-4">
          {isLost ? (
            <p role="status">
              cmux does not answer. It is tried again; <code>cmux up</code> in the project starts
              it.
            </p>
          ) : (
            <Skeleton className="h-4 w-24" />
          )}
        </div>
        <div className="flex flex-col gap-5 p-4">
          {[0, 1, 2, 3, 4, 5].map((row) => (
            <Skeleton key={row} className="h-6 w-full" />
          ))}
        </div>
      </main>
    </div>
  );
}
