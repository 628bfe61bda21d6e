/** What each agent of the team does, by what it is told: a shop that learns to sell to guests, and a map. */

import type { Script } from "./house";

/** As long as any test takes. */
const AN_HOUR_MS = 3_600_000;

type Step = Record<string, unknown>;

const say = (...lines: string[]): Step => ({ say: lines.join("\n") });

const bash = (command: string, description: string): Step => ({
  tool: { name: "Bash", input: { command, description }, ask: false },
});

const write = (path: string, text: string, ask: boolean): Step => ({ write: { path, text, ask } });

const when = (contains: string, ...steps: Step[]) => ({ when: { contains }, steps });

/** What the person is answered, in Markdown. */
const PROGRESS = [
  "**7 of 31** regions are drawn, zoom 12 to 14:",
  "",
  "| zoom | tiles | left |",
  "|---|---|---|",
  "| 12 | 1,984 | 0 |",
  "| 13 | 7,936 | 512 |",
  "| 14 | 9,216 | 22,528 |",
  "",
  "The import of elevation data waits: its provider has a limit until the evening.",
].join("\n");

const SUPERVISOR = [
  when(
    "Ship guest checkout",
    say("I split issue 12 into three parts, and give each to somebody of its own."),
    bash("cmux agent spawn api --kind demo --task 'Write the API of guest orders.'", "Launch api"),
    bash("cmux agent spawn web --kind demo --task 'Build the form of guests.'", "Launch web"),
    bash("cmux agent spawn tests --kind demo --task 'Cover guest checkout.'", "Launch tests"),
    say("**api**, **web** and **tests** are at work. I put the parts together as they report."),
  ),
  when("\nDone: ", say("The API is done. I wait for the form before I merge.")),
];

const API = [
  when(
    "Write the API of guest orders",
    say("I look at how orders are made today."),
    bash("echo 'src/orders/create.rs:41: let customer = session.customer()?;'", "Find it"),
    say(
      "An order needs a customer, who comes from the session. Guests have none, so:",
      "",
      "1. `NewOrder` takes a `Buyer`, an account or an e-mail address.",
      "2. The route stops asking for a session.",
      "",
      "```rust",
      "pub enum Buyer {",
      "    Account(CustomerId),",
      "    Guest { email: Email },",
      "}",
      "```",
    ),
    write("buyer.rs", "pub enum Buyer {}\n", false),
    bash("echo 'test result: FAILED. 11 passed; 1 failed' && exit 1", "Run the tests of orders"),
    say("One test still takes it that every order has an account. I change it."),
    bash("echo 'test result: ok. 12 passed; 0 failed'", "Run the tests of orders"),
    bash(
      "cmux report done 'Guests can order: `POST /orders` takes an e-mail address.'",
      "Report to whoever launched me",
    ),
    say(
      "Guests can order. What a request needs now:",
      "",
      "| buyer | session | e-mail |",
      "|---|---|---|",
      "| account | yes | – |",
      "| guest | – | yes |",
    ),
  ),
  when(
    "What is left",
    bash(
      "cmux send user --kind question 'May guests pay by invoice? It needs a credit check.'",
      "Ask the person",
    ),
    say(
      "Two things are left:",
      "",
      "- [x] the route and its tests",
      "- [ ] invoices: I asked you whether guests may have them",
      "- [ ] the mail that confirms an order",
    ),
  ),
];

const WEB = when(
  "Build the form of guests",
  say(
    "The form of customers has four steps, and guests need three of them:",
    "",
    "  1. address    kept, with the e-mail address before it",
    "  2. delivery   kept as it is",
    "  3. account    left out",
    "  4. payment    kept, without what was saved",
    "",
    "So the steps become a list that the form is given, instead of pages that know one another.",
  ),
  say(
    "Three things that I leave as they are:",
    "",
    "  - the basket, which knows nothing of customers",
    "  - the address of the page, as links to it are in our mail",
    "  - the tests of the form of customers, which must still pass",
  ),
  say(
    "The new part is small. It asks for an e-mail address and says what it is for:",
    "",
    "  export function GuestForm({ onDone }: Props) {",
    "    return (",
    "      <Steps of={[Email, Address, Delivery, Payment]} onDone={onDone} />",
    "    );",
    "  }",
  ),
  write("checkout.tsx", "export function GuestForm() {}\n", true),
);

const OTHERS = [
  when(
    "Cover guest checkout",
    say("I write down what must hold before I test it."),
    bash("echo 'Running 48 tests using 4 workers'", "Run the tests of the shop"),
    { think_ms: AN_HOUR_MS },
  ),
  when(
    "Draw the new tiles",
    say("Tiles of zoom 12 to 14 are drawn, one region after the other."),
    bash("echo 'region 7 of 31: 4,096 tiles'", "Draw a region"),
    { think_ms: AN_HOUR_MS },
  ),
  when("Import the elevation data", say("I begin with the Alps."), {
    limit_s: AN_HOUR_MS / 1000,
  }),
  when(
    "How far are the tiles",
    bash(
      `cmux reply "$(cmux --json inbox | grep -o 'msg_[0-9A-Z]*' | head -1)" '${PROGRESS}'`,
      "Answer the person",
    ),
    say("I have answered you."),
  ),
  when("Begin with the coast", say("The regions at the coast go first.")),
];

export const SCRIPT: Script = { rules: [...SUPERVISOR, ...API, WEB, ...OTHERS] };
