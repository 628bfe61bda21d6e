/** Mail between a person and agents: written, followed on its way, taken back, answered, found again. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Message } from "../src/wire";
import type { House, Script } from "./house";
import { test } from "./stage";
import { until } from "./wait";

/** Works for as long as there is no file `go` in its folder. */
const WORKS: Script = {
  rules: [
    {
      when: { contains: "work" },
      steps: [bash("until test -e go; do sleep 0.05; done"), { say: "worked" }],
    },
    { steps: [{ say: "ok" }] },
  ],
};

/** Answers what it was sent last. */
const ANSWERS: Script = {
  rules: [
    {
      steps: [
        bash(
          "cmux reply $(cmux inbox --json | grep -o 'msg_[0-9A-Z]*' | head -1) 'Because of **it**.'",
        ),
      ],
    },
  ],
};

test("a message is written by keys alone, and followed until it is known to be read", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  for (const name of ["api", "app", "web"]) await house.agent(shop, name);
  const { page } = await sign();
  await page.getByRole("link", { name: "app" }).waitFor();
  await page.keyboard.press("c");
  const to = page.getByRole("combobox", { name: "To" });
  await until("the field has the keys", () => hasFocus(to));
  await page.keyboard.type("ap");
  const offered = page.getByRole("listbox", { name: "Agents" }).getByRole("option");
  await until("two are offered", async () => (await offered.count()) === 2);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  expect(await to.inputValue()).toBe("app");
  await page.getByText("worker of shop, demo").waitFor();
  const field = page.getByRole("textbox", { name: "Message" });
  await until("the text has the keys", () => hasFocus(field));
  await page.keyboard.type("What is **left** to do?");
  await page.keyboard.press("Control+Enter");

  const letter = letterOf(page, "You to app");
  await letter.getByText("What is left to do?").waitFor();
  await letter.getByText(/^Delivered after \d.*: its reader/).waitFor();
  const steps = letter.getByRole("list", { name: "Its journey" }).getByRole("listitem");
  const passed = await steps.allTextContents();
  expect(passed.map((step) => /[A-Z][a-z]+/.exec(step)?.[0])).toEqual(
    expect.arrayContaining(["Queued", "Typing", "Delivered"]),
  );
  expect(passed.every((step) => /\d\d:\d\d:\d\d/.test(step))).toBe(true);
  expect(passed.slice(1).every((step) => /after \d/.test(step))).toBe(true);
  expect(await steps.last().getAttribute("aria-current")).toBe("step");
  expect(await page.getByRole("dialog").count()).toBe(0);
  await conversation(page, "What is left to do?").waitFor();
  await page.keyboard.press("c");
  await until("the next one is begun anew", async () => (await field.inputValue()) === "");
});

test("a message says what it waits for, as that changes, until it is read", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api", WORKS);
  await house.send("api", "work");
  await house.until("api", ({ phase }) => phase === "busy");
  const { page } = await sign({ path: "/messages?compose=new" });
  await write(page, "api", "And then rest.");
  const letter = letterOf(page, "You to api");
  await letter.getByText("Waits: its reader is busy").waitFor();
  await letter.getByText("Queued").first().waitFor();
  await house.json("agent", "pause", api.id);
  await letter.getByText("Waits: its reader is paused").waitFor();
  await house.json("agent", "resume", api.id);
  await letter.getByText("Waits: its reader is busy").waitFor();
  letGo(house, "shop");
  await letter.getByText(/^Delivered after/).waitFor();
});

test("a message says that something stands at its reader's prompt", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.json(
    ...["agent", "spawn", "api", "--project", shop, "--kind", "demo"],
    ...["--", "--fault", "draft=half a thought"],
  );
  await house.until("api", ({ phase }) => phase === "idle");
  const { page } = await sign({ path: "/messages?compose=new" });
  await write(page, "api", "Are you there?");
  const letter = letterOf(page, "You to api");
  await letter.getByText(/^Waits: something is at its reader's prompt/).waitFor();
});

test("a message is taken back before it is read, sent again, and read once", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.json("agent", "pause", api.id);
  const { page } = await sign({ path: "/messages?compose=new" });
  await write(page, "api", "Never mind.");
  const letter = letterOf(page, "You to api");
  await letter.getByText("Waits: its reader is paused").waitFor();
  await letter.getByRole("button", { name: "Take back" }).click();
  await letter.getByText(/^Taken back/).waitFor();
  await letter.getByText("Cancelled").first().waitFor();
  await letter.getByRole("button", { name: "Send again" }).click();
  await letter.getByText("Waits: its reader is paused").waitFor();
  await house.json("agent", "resume", api.id);
  await letter.getByText(/^Delivered after/).waitFor();
  await letter.getByText(/^Tried before at .*: queued, cancelled/).waitFor();
  expect(await letter.getByRole("button", { name: /Take back|Send again/ }).count()).toBe(0);
  expect(await page.getByRole("article").count()).toBe(1);
  const id = new URL(page.url()).searchParams.get("thread") ?? "";
  const { state, attempts } = await house.json<Message>("message", "show", id);
  expect([state, attempts]).toEqual(["delivered", 1]);
});

test("what an agent answers appears in the conversation that is open", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api", ANSWERS);
  const { page } = await sign({ path: "/messages?compose=new" });
  await write(page, "api", "Why?");
  const answer = letterOf(page, "api to You");
  await answer.getByText("Because of it.").waitFor();
  expect(await answer.getByText("it", { exact: true }).evaluate((it) => it.tagName)).toBe("STRONG");
  await answer.getByText("Answer", { exact: true }).waitFor();
  expect(await page.getByRole("article").count()).toBe(2);
  expect(await conversations(page).count()).toBe(1);
  await conversation(page, "Because of it.").waitFor();
});

test("filters are kept in the address, and mail comes and goes as it fits them", async ({
  house,
  sign,
}) => {
  const [shop, mill] = [await house.project("shop"), await house.project("mill")];
  const api = await house.agent(shop, "api");
  const web = await house.agent(shop, "web");
  await house.agent(mill, "saw");
  await house.send("saw", "To the saw.", "--wait=60");
  await house.send("api", "To the api.", "--wait=60");
  await house.json("agent", "pause", api.id);
  await house.send("api", "Later.");
  await house.json("agent", "pause", web.id);
  await house.send("web", "To the web.");
  const { page } = await sign({ path: "/messages?state=delivered" });
  await shows(page, ["api: To the api.", "saw: To the saw."]);
  await house.json("agent", "resume", web.id);
  await shows(page, ["web: To the web.", "api: To the api.", "saw: To the saw."]);
  await page.getByRole("button", { name: "Clear" }).click();
  await shows(page, ["web: To the web.", "api: Later.", "api: To the api.", "saw: To the saw."]);
  await choose(page, "Project", "shop");
  await shows(page, ["web: To the web.", "api: Later.", "api: To the api."]);
  await choose(page, "Agent", "api");
  await shows(page, ["api: Later.", "api: To the api."]);
  await choose(page, "State", "Queued");
  await shows(page, ["api: Later."]);
  const search = Object.fromEntries(new URL(page.url()).searchParams);
  expect(search).toEqual({ project: shop, agent: api.id, state: "queued" });

  await page.reload();
  await shows(page, ["api: Later."]);
  expect(await page.getByRole("combobox", { name: "State" }).textContent()).toBe("Queued");
  await house.json("agent", "resume", api.id);
  await page.getByRole("heading", { name: "No mail fits these filters" }).waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await shows(page, ["web: To the web.", "api: Later.", "api: To the api.", "saw: To the saw."]);
  expect(new URL(page.url()).search).toBe("");
});

test("of what is long its beginning is shown, and all of it when it is asked for", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `- Item ${at} of it.`);
  const text = (count: number) => ["# The list", "", ...lines(count), "", "The end."].join("\n");
  const high = await house.send("api", text(100), "--wait=60");
  const { page } = await sign({ path: `/messages?thread=${high.thread}` });
  const letter = letterOf(page, "You to api");
  await letter.getByRole("heading", { name: "The list" }).waitFor();
  await letter.getByRole("button", { name: "Show all" }).waitFor();
  await letter.getByText("Typing").waitFor();
  const begun = await height(letter);
  await letter.getByRole("button", { name: "Show all" }).click();
  await letter.getByRole("button", { name: "Show less" }).waitFor();
  expect(await height(letter)).toBeGreaterThan(2 * begun);
  await letter.getByRole("button", { name: "Show less" }).click();
  await until("it is as high as before", async () => (await height(letter)) === begun);

  await house.send("api", text(1_000));
  await until("it has come", async () => (await conversations(page).count()) === 2);
  await conversations(page).first().click();
  const whole = letter.getByRole("button", { name: /^Show all \(17\.\d KB\)$/ });
  await whole.waitFor();
  expect(await letter.getByText("The end.").count()).toBe(0);
  await whole.click();
  await letter.getByText("The end.").waitFor();
});

test("what was begun for one is not sent to another", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const [api, web] = [await house.agent(shop, "api"), await house.agent(shop, "web")];
  const visit = await sign({ path: `/messages?compose=${api.id}` });
  const { page } = visit;
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("For api alone.");
  for (const [compose, to, text] of [
    [web.id, "web", ""],
    ["new", "", ""],
    [api.id, "api", "For api alone."],
  ] as const) {
    await visit.go(`/messages?compose=${compose}`);
    await until("the field is there", async () => (await field.inputValue()) === text);
    expect(await page.getByRole("combobox", { name: "To" }).inputValue()).toBe(to);
  }
});

test("what waits for an agent is a click away from it", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.agent(shop, "web");
  await house.json("agent", "pause", api.id);
  await house.send("api", "for api");
  await house.send("web", "for web", "--wait=60");
  const { page } = await sign({ path: `/agents/${api.id}` });
  await page.getByRole("link", { name: "1 message waits" }).click();
  await shows(page, ["api: for api"]);
});

test("what can be done about a message is in the palette, and a message is copied by touch", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.json("agent", "pause", api.id);
  const { thread } = await house.send("api", "Never **mind**.");
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page } = await sign({ path: `/messages?thread=${thread}`, permissions });
  const letter = letterOf(page, "You to api");
  await letter.getByRole("button", { name: "Take back" }).waitFor();
  await offered(page, "Take back");
  await letter.getByText("Cancelled", { exact: true }).first().waitFor();
  await offered(page, "Send again");
  await letter.getByText(/^Waits: its reader is paused/).waitFor();
  await offered(page, "Copy link");
  await page.getByText("The link is copied").waitFor();
  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());
  expect(await clipboard(page)).toBe(house.address(`/messages?thread=${thread}`));
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  const phone = (await sign({ path: `/messages?thread=${thread}`, permissions, phone: true })).page;
  await phone.getByRole("button", { name: "Copy the message" }).tap();
  await phone.getByRole("button", { name: "Copied" }).waitFor();
  expect(await clipboard(phone)).toBe("Never **mind**.");
  await phone.goto(house.address("/"));
  await phone.getByRole("button", { name: "What to do with api" }).tap();
  await phone.getByRole("menuitem", { name: "Copy its link" }).tap();
  await phone.getByText("The link is copied").waitFor();
  expect(await clipboard(phone)).toBe(house.address(`/agents/${api.id}`));
});

test("a note stays while it is pointed at", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const visit = await sign();
  const { page } = visit;
  // To a page whose clock runs ahead, the daemon is silent.
  visit.allow(/WebSocket is closed before/);
  await page.getByRole("button", { name: "What to do with api" }).click();
  await page.clock.install();
  await page.getByRole("menuitem", { name: "Pause" }).click();
  const note = page.getByText("api is paused");
  await note.hover();
  await page.clock.fastForward(60_000);
  expect(await note.isVisible()).toBe(true);
  await page.getByRole("heading", { name: "Fleet" }).hover();
  await page.clock.fastForward(60_000);
  await note.waitFor({ state: "detached" });
});

test("what came to nothing is told without ids, and leads to what was written", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.json("agent", "pause", api.id);
  await house.send("api", "Be quick.", "--ttl", "1s");
  const { page } = await sign({ path: "/inbox" });
  await conversation(page, /Your message to api is expired/).click();
  await letterOf(page, "cmux to You")
    .getByText(/^Your message to api is expired/)
    .waitFor();
  await page.getByRole("button", { name: "Show that message" }).click();
  await until("it has the focus", () => hasFocus(letterOf(page, "You to api")));
  expect(await page.getByRole("main").textContent()).not.toContain("msg_");
});

test("what can no longer be read has failed, and says why", async ({ house, sign }) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.json("agent", "stop", api.id);
  await house.until("api", ({ phase, pid }) => phase === "offline" && pid === null);
  const { thread } = await house.send("api", "For nobody.");
  const { page } = await sign({ path: `/messages?thread=${thread}` });
  const letter = letterOf(page, "You to api");
  await letter.getByText("Waits: its reader is stopped").waitFor();
  await house.json("agent", "rm", api.id);
  await letter.getByText("Failed", { exact: true }).first().waitFor();
  await letter.getByText("Failed: its reader was forgotten").waitFor();
  await letter.getByRole("button", { name: "Send again" }).waitFor();
  const told = letterOf(page, "cmux to You").getByText(/^Your message to api is failed/);
  await told.waitFor();
  await page.getByText(/^Nobody in this conversation can be answered/).waitFor();
});

test("whoever reads further up in a conversation has a way to the newest", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api");
  await house.json("agent", "pause", api.id);
  const items = Array.from({ length: 30 }, (_, at) => `- Item ${at} of it.`);
  const { thread } = await house.send("api", items.join("\n"));
  for (const name of ["two", "three", "four"]) {
    await house.send("api", [`Letter ${name}.`, "", ...items].join("\n"), "--reply-to", thread);
  }
  const { page } = await sign({ path: `/messages?thread=${thread}` });
  const newest = page.getByRole("article").filter({ hasText: "Letter four." });
  const isInSight = () =>
    newest.evaluate((it) => it.getBoundingClientRect().bottom <= window.innerHeight);
  await until("the newest is in sight", isInSight);
  const button = page.getByRole("button", { name: "To the newest" });
  await button.waitFor({ state: "detached" });
  await page.getByRole("article").first().scrollIntoViewIfNeeded();
  await button.click();
  await until("the newest is in sight again", isInSight);
  await button.waitFor({ state: "detached" });
});

test("a conversation says who said what to an agent, and has the line it was typed with", async ({
  house,
  sign,
}) => {
  const shop = await house.project("shop");
  const api = await house.agent(shop, "api", { rules: [{ steps: [{ say: "It is **done**." }] }] });
  const { id } = await house.send("api", "Do it.", "--wait=60");
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page } = await sign({ path: `/agents/${api.id}?tab=conversation`, permissions });
  const talk = page.getByRole("log", { name: "Conversation of api" });
  await talk.getByText("Do it.", { exact: true }).waitFor();
  const typed = talk.getByText(/^\[cmux dlv_/);
  expect(await typed.isVisible()).toBe(false);
  await talk.getByText("as typed").click();
  expect(await typed.textContent()).toContain(id);
  await talk.getByText("done", { exact: true }).hover();
  await talk.getByRole("button", { name: "Copy the answer" }).click();
  await talk.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toBe("It is **done**.");
  await talk.getByRole("link", { name: "From you" }).click();
  await letterOf(page, "You to api").getByText("Do it.").waitFor();
});

test("what a message says is text, and nothing of it is run or loaded", async ({ house, sign }) => {
  const shop = await house.project("shop");
  await house.agent(shop, "api");
  const hostile = [
    "<b>bold</b> <script>window.ran = 1</script>",
    '<img src="/nothing.png" onerror="window.ran = 2">',
    "This is **drawn**. [press me](javascript:window.ran=3) and [me](data:text/html,<script>window.ran=4</script>)",
    "![a picture](/picture.png)",
    "[a page](/login?link=x), [another](login?link=x), [ours](HOUSE/login?link=x), [theirs](https://example.org/)",
    '<iframe src="javascript:window.ran=5"></iframe>',
  ]
    .join("\n\n")
    .replace("HOUSE", house.address(""));
  const { thread } = await house.send("api", hostile, "--wait=60");
  const { page } = await sign();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(house.address(`/messages?thread=${thread}`));
  const letter = letterOf(page, "You to api");
  await letter.getByText("drawn", { exact: true }).waitFor();
  await letter.getByText("<script>window.ran = 1</script>").waitFor();
  await letter.getByText('<img src="/nothing.png" onerror="window.ran = 2">').waitFor();
  await letter.getByText("press me").click();
  await letter.getByText(/^Delivered after/).waitFor();
  const made = await page.locator("body").evaluate((body) => ({
    elements: body.querySelectorAll("article :is(b, script, img, iframe, object, style)").length,
    addresses: [...body.querySelectorAll("article a")].map((link) => link.getAttribute("href")),
    ran: Reflect.get(window, "ran") as unknown,
  }));
  expect(made.elements).toBe(0);
  const isAgent = (href: string | null) => href?.startsWith("/agents/");
  expect(made.addresses.filter((href) => !isAgent(href))).toEqual(["https://example.org/"]);
  expect(made.ran).toBeUndefined();
  expect(asked.filter((path) => path.endsWith(".png"))).toEqual([]);
  expect(page.context().pages().length).toBe(1);
  await conversation(page, /<b>bold<\/b> <script>/).waitFor();
});

/** Chooses in the palette what is found by a few letters. */
async function offered(page: Page, letters: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Do anything" }).fill(letters);
  await page.getByRole("option", { name: letters }).first().click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** A step that runs a command, for which nobody is asked. */
function bash(command: string): Record<string, unknown> {
  return { tool: { name: "Bash", input: { command }, ask: false } };
}

/** Lets an agent that works come to an end. */
function letGo(house: House, project: string): void {
  writeFileSync(join(house.folder, project, "go"), "");
}

/** Writes a message in the composer, which is open. */
async function write(page: Page, to: string, text: string): Promise<void> {
  await page.getByRole("combobox", { name: "To" }).fill(to);
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

/** The message in the open conversation that goes this way, such as `You to api`. */
function letterOf(page: Page, way: string): Locator {
  return page.getByRole("article", { name: way });
}

function conversations(page: Page): Locator {
  return page.getByRole("list", { name: "Conversations" }).getByRole("link");
}

function conversation(page: Page, name: string | RegExp): Locator {
  return page.getByRole("list", { name: "Conversations" }).getByRole("link", { name });
}

/** Waits until these of the person's conversations are listed, in this order. */
async function shows(page: Page, expected: ReadonlyArray<string>): Promise<void> {
  const wanted = expected.map((said) => `You to ${said}`);
  await until(`what is listed is ${wanted}`, async () => {
    const listed = await conversations(page).allTextContents();
    return JSON.stringify(listed) === JSON.stringify(wanted);
  });
}

/** Chooses one of a filter's options. */
async function choose(page: Page, filter: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: filter }).click();
  await page.getByRole("option", { name: option }).first().click();
}

function hasFocus(field: Locator): Promise<boolean> {
  return field.evaluate((it) => it === document.activeElement);
}

async function height(box: Locator): Promise<number> {
  return (await box.boundingBox())?.height ?? 0;
}
