/** Where the dashboard begins. */

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ProblemError } from "./api/request";
import { followNeeds } from "./app/notifications";
import { offerAll } from "./app/offers";
import { loadPages, router } from "./app/router";
import { startFeed } from "./feed/follow";
import { onLive } from "./feed/live";
import { onFleet } from "./feed/store";
import { setNavigate } from "./shared/go";
import { listenToKeys } from "./shared/keys";
import { loadFailed, loadParts } from "./shared/part";
import { TooltipProvider } from "./shared/tooltip";
import "./shared/styles.css";

/** What is asked for is kept until an event says that it has changed; nothing is asked for by the clock. */
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The daemon is there without a network, too.
      networkMode: "always",
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < 2 &&
        !(error instanceof ProblemError && error.status >= 400 && error.status < 500),
    },
    mutations: { networkMode: "always" },
  },
});

// What could not be asked for while the daemon was away is asked for again; nobody has to press for it.
onLive(() => {
  const hasFailed = ({ state }: { state: { status: string } }) => state.status === "error";
  void queries.refetchQueries({ type: "active", predicate: hasFailed });
  loadFailed();
});

setNavigate((to) => void router.navigate(to));
listenToKeys();
offerAll();
followNeeds();
startFeed();

/** How long the first page has the connection to itself, and how long the pages have it before their parts. */
const FIRST_MS = 500;
const PAGES_MS = 2_000;

const forget = onFleet(() => {
  forget();
  setTimeout(() => void loadAll(), FIRST_MS);
});

/** Loads the rest, so that all of it can be opened while the daemon is away. */
async function loadAll(): Promise<void> {
  await loadPages();
  // They are large, and a page that needs them does not wait for this.
  setTimeout(() => void loadParts(), PAGES_MS);
}

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <TooltipProvider delayDuration={350} skipDelayDuration={150}>
          <RouterProvider router={router} />
        </TooltipProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
