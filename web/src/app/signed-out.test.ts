import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loginAddress } from "./signed-out";

const ORIGIN = "http://127.0.0.1:8000";
const SCRIPT = readFileSync(new URL("../../plain/login.js", import.meta.url), "utf8");

test.each([
  ["/", "", ""],
  ["/inbox", "", ""],
  ["/messages", "?thread=msg_1&state=queued", ""],
  ["/agents/agt_1", "?tab=facts", "#turns"],
])("who was at %s%s%s is there again once they are let in", async (pathname, search, hash) => {
  const address = loginAddress({ pathname, search, hash });
  expect(await landing(address)).toBe(`${ORIGIN}${pathname}${search}${hash}`);
});

test.each([
  "",
  "?next=",
  "?next=inbox",
  "?next=https://elsewhere.example/",
  "?next=//elsewhere.example/",
  "?next=///elsewhere.example/",
  "?next=/%5Celsewhere.example/",
  "?next=%5C%5Celsewhere.example/",
  "?next=/%09/elsewhere.example/",
  "?next=/%0A/elsewhere.example/",
  "?next=%20//elsewhere.example/",
  "?next=javascript:alert(1)",
  "?next=data:text/html,x",
  "?next=http:elsewhere.example",
  "?next=//127.0.0.1:9000/",
  "?next=//[",
  "?next=/login?link=theirs",
])("the password page at %s leads to the first page and nowhere else", async (search) => {
  expect(await landing(`/login${search}`)).toBe(`${ORIGIN}/`);
});

test.each(["/.//elsewhere.example/", "/a/..//elsewhere.example/", "//"])(
  "a path that looks like another origin stays on this one: %s",
  async (path) => {
    const landed = await landing(`/login?${new URLSearchParams({ next: path })}`);
    expect(new URL(landed).origin).toBe(ORIGIN);
  },
);

/** Returns where the page of a password at this address leads to, once the password was right. */
async function landing(address: string): Promise<string> {
  let landed = "";
  let send: (event: { preventDefault: () => void }) => Promise<void> = async () => {};
  const element = {
    addEventListener: (_: string, then: typeof send) => {
      send = then;
    },
    value: "right",
    textContent: "",
  };
  const { origin, search } = new URL(address, ORIGIN);
  const replace = (to: string) => {
    landed = new URL(to, `${ORIGIN}/login`).href;
  };
  const run = new Function("document", "location", "fetch", SCRIPT);
  run({ getElementById: () => element }, { origin, search, replace }, async () => ({ ok: true }));
  await send({ preventDefault: () => {} });
  return landed;
}
