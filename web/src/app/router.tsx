/** Every address of the dashboard. What a page is for is loaded when it is opened. */

import { createRootRoute, createRoute, createRouter, Link } from "@tanstack/react-router";
import { CircleHelp } from "lucide-react";
import type { ComponentType } from "react";
import { activitySearch } from "../features/activity/search";
import { agentSearch } from "../features/agent/search";
import { FleetPage } from "../features/fleet";
import { fleetSearch } from "../features/fleet/search";
import { inboxSearch, messagesSearch } from "../features/messages/search";
import { Empty } from "../shared/empty";
import { Page } from "../shared/page";
import { Loaded, Part } from "../shared/part";
import { Layout } from "./layout";
import { PageFailed } from "./page-failed";

/** Returns a page that is loaded when it is opened: before the one that it follows goes, if it can be. */
function page(load: () => Promise<ComponentType>) {
  const wanted = new Part(load);
  const loaded = () => (
    <Loaded part={wanted} name="This page" meanwhile={null}>
      {(Shown) => <Shown />}
    </Loaded>
  );
  return Object.assign(loaded, { preload: wanted.load });
}

const PAGES = {
  agentPage: page(async () => (await import("../features/agent")).AgentPage),
  messagesPage: page(async () => (await import("../features/messages")).MessagesPage),
  inboxPage: page(async () => (await import("../features/messages")).InboxPage),
  activityPage: page(async () => (await import("../features/activity")).ActivityPage),
  healthPage: page(async () => (await import("../features/health")).HealthPage),
  settingsPage: page(async () => (await import("../features/settings")).SettingsPage),
};

/** Loads what the other pages are made of, so that they can be opened while the daemon is away. */
export async function loadPages(): Promise<void> {
  await Promise.all(Object.values(PAGES).map(({ preload }) => preload()));
}

const root = createRootRoute({
  component: Layout,
  notFoundComponent: NotFound,
  errorComponent: PageFailed,
});

const fleet = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: fleetSearch,
  component: FleetPage,
});

const project = createRoute({
  getParentRoute: () => root,
  path: "/projects/$project",
  validateSearch: fleetSearch,
  component: FleetPage,
});

const agent = createRoute({
  getParentRoute: () => root,
  path: "/agents/$agent",
  validateSearch: agentSearch,
  component: PAGES.agentPage,
});

const messages = createRoute({
  getParentRoute: () => root,
  path: "/messages",
  validateSearch: messagesSearch,
  component: PAGES.messagesPage,
});

const inbox = createRoute({
  getParentRoute: () => root,
  path: "/inbox",
  validateSearch: inboxSearch,
  component: PAGES.inboxPage,
});

const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  validateSearch: activitySearch,
  component: PAGES.activityPage,
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  component: PAGES.healthPage,
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: PAGES.settingsPage,
});

export const router = createRouter({
  routeTree: root.addChildren([fleet, project, agent, messages, inbox, activity, health, settings]),
  defaultPreload: "intent",
  // A page that fails takes nothing else with it.
  defaultErrorComponent: PageFailed,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty
        icon={CircleHelp}
        title="There is no such page"
        action={
          <Link to="/" className="font-medium text-accent underline">
            Go to the fleet
          </Link>
        }
      >
        The address may be of something that is gone.
      </Empty>
    </Page>
  );
}
