/**
 * A house that is lived in: two projects whose agents are all at something else, and the mail that they wrote
 * to one another and to the person.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import type { Message } from "../src/wire";
import { House } from "./house";
import { SCRIPT } from "./script";
import { test as base } from "./stage";
import type { Visit } from "./visit";
import { eventually, until } from "./wait";

/** What a test may want to open, by its id. */
export type Team = {
  shop: string;
  /** A worker that has done much, and is idle. */
  api: string;
  /** A worker with a question on its screen. */
  web: string;
  /** The conversation of the person and `lead`: asked, answered, and told what to do next. */
  talk: string;
  /** An event in which something was delivered. */
  event: number;
};

type Lived = { house: House; team: Team };

/** A test in a house that is lived in. All of a file share it, so none may change what it has. */
export const test = base.extend<Lived & { lived: Lived }>({
  lived: [
    // biome-ignore lint/correctness/noEmptyPattern: what is asked for is read off this.
    async ({}, use) => {
      const house = await House.open(rehearse);
      try {
        await use({ house, team: await settle(house) });
      } finally {
        await house.close();
      }
    },
    { scope: "file" },
  ],
  house: ({ lived }, use) => use(lived.house),
  team: ({ lived }, use) => use(lived.team),
});

/** Has every scripted agent of a house play the team. */
async function rehearse(house: House): Promise<void> {
  const script = join(house.folder, "team.json");
  writeFileSync(script, JSON.stringify(SCRIPT));
  const config = `[kinds.demo]\nargs = ["--script", ${JSON.stringify(script)}]\n`;
  writeFileSync(join(house.home, "config.toml"), config);
}

/** Has everybody at what they do for the rest of the test. */
async function settle(house: House): Promise<Team> {
  const shop = await house.project("shop");
  const atlas = await house.project("atlas");
  const task = (text: string) => ["--task", text];
  const role = (name: string) => ["--role", name];
  const ship = [...role("supervisor"), ...task("Ship guest checkout (issue 12).")];
  await house.launch(shop, "supervisor", undefined, ship);
  await house.launch(shop, "reviewer", undefined, role("reviewer"));
  await house.launch(shop, "docs", undefined, role("writer"));
  await house.launch(atlas, "lead", undefined, role("supervisor"));
  await house.launch(atlas, "tiles", undefined, task("Draw the new tiles."));
  await house.launch(atlas, "importer", undefined, task("Import the elevation data."));

  const docs = await house.until("docs", ({ phase }) => phase === "idle");
  await house.json("agent", "stop", docs.id);
  const reviewer = await house.until("reviewer", ({ phase }) => phase === "idle");
  await house.json("agent", "pause", reviewer.id);
  await house.send("reviewer", "Please look at the API of guest orders.", "--kind", "task");
  await house.send("docs", "Guests can order: say so in the guide.", "--ttl", "1s");

  await house.until("lead", ({ phase }) => phase === "idle");
  const talk = await house.send("lead", "How far are the tiles?");
  const answer = await inboxHas(house, ({ thread }) => thread === talk.thread);
  await house.until("lead", ({ phase }) => phase === "idle");
  const next = "Begin with the coast, please: the harbour needs it by Friday.";
  await read(house, await house.send("lead", next, "--reply-to", answer.id));

  await house.until("api", ({ phase, usage }) => phase === "idle" && usage.tokens > 0);
  await read(house, await house.send("api", "What is left of guest checkout?"));
  await inboxHas(house, ({ kind }) => kind === "question");
  await inboxHas(house, ({ kind }) => kind === "error");

  for (const name of ["supervisor", "lead", "api"]) {
    await house.until(name, ({ phase, queue }) => phase === "idle" && queue === 0);
  }
  await house.until("tests", ({ phase }) => phase === "busy");
  await house.until("tiles", ({ phase }) => phase === "busy");
  await house.until("importer", ({ phase }) => phase === "limited");
  const web = await house.until("web", ({ phase }) => phase === "asking");
  const api = await house.look("api");
  const delivered = (await house.events()).findLast(({ kind }) => kind === "message.delivered");
  return { shop, api: api.id, web: web.id, talk: talk.thread, event: delivered?.id ?? 0 };
}

/** Waits until the person has been sent such a message, which stays unread. */
function inboxHas(house: House, isIt: (message: Message) => boolean): Promise<Message> {
  return eventually(`the inbox has what is waited for: ${isIt}`, async () => {
    const { messages } = await house.json<{ messages: Message[] }>("inbox", "--keep");
    return messages.find(isIt);
  });
}

/** Waits until a message was read. */
function read(house: House, { id }: Message): Promise<void> {
  return until(`${id} was read`, async () => {
    return (await house.json<Message>("message", "show", id)).state === "delivered";
  });
}

/** A view of the dashboard: its address, and what is there once it has all that it shows. */
export type View = { name: string; path: string; content: (page: Page) => ReadonlyArray<Locator> };

/** Opens a view, and waits for its content. */
export async function open(visit: Visit, view: View): Promise<void> {
  await visit.go(view.path);
  await shown(visit.page, view);
}

/** Waits for the content of a view. */
export async function shown(page: Page, { content }: View): Promise<void> {
  for (const part of content(page)) await part.first().waitFor();
}

/** Returns every page, and what lies over some of them. */
export function viewsOf({ shop, api, web, talk, event }: Team): View[] {
  const agent = (id: string, tab: string) => `/agents/${id}?tab=${tab}`;
  const row = (name: string) => (page: Page) => [page.getByRole("link", { name, exact: true })];
  const said = (text: string | RegExp) => (page: Page) => [page.getByText(text)];
  const field = (label: string) => (page: Page) => [page.getByLabel(label, { exact: true })];
  const table = (page: Page) => page.getByRole("table");
  const journey = (page: Page) => page.getByRole("list", { name: "Its journey" });
  const list = (page: Page) => page.getByRole("list", { name: "Conversations" });
  const log = (page: Page) => page.getByRole("list", { name: "Events" });
  return [
    { name: "fleet", path: "/", content: row("tiles") },
    { name: "project", path: `/projects/${shop}`, content: row("reviewer") },
    { name: "spawn", path: "/?new=agent", content: field("First task") },
    { name: "terminal", path: agent(web, "terminal"), content: said("Do you want to proceed?") },
    { name: "conversation", path: agent(api, "conversation"), content: (page) => [table(page)] },
    { name: "events", path: agent(api, "events"), content: said(/^used \d+ tokens$/) },
    { name: "facts", path: agent(api, "facts"), content: (page) => [table(page)] },
    {
      name: "messages",
      path: "/messages",
      content: (page) => [list(page).getByRole("link")],
    },
    {
      name: "thread",
      path: `/messages?thread=${talk}`,
      content: (page) => [table(page), journey(page)],
    },
    { name: "composer", path: "/messages?compose=new", content: field("To") },
    { name: "inbox", path: "/inbox", content: said("Questions for you") },
    { name: "activity", path: "/activity", content: (page) => [log(page).getByRole("button")] },
    { name: "event", path: `/activity?at=${event}`, content: said("Copy JSON") },
    { name: "health", path: "/health", content: (page) => [page.locator("canvas")] },
    { name: "settings", path: "/settings", content: said("This one") },
  ];
}
