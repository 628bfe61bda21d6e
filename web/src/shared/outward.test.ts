import { expect, test } from "vitest";
import { isOutward } from "./outward";

const OWN = "http://127.0.0.1:8000";

test.each([
  ["https://example.org/a?b#c", true],
  ["HTTP://example.org", true],
  ["http://127.0.0.1:3000/", true],
  ["mailto:somebody@example.org", true],
  ["/login?link=abc", false],
  ["login?link=abc", false],
  ["//example.org", false],
  ["#top", false],
  ["http:login", false],
  ["http:/login", false],
  [`${OWN}/login?link=abc`, false],
  ["HTTP://127.0.0.1:8000/login?link=abc", false],
  ["javascript:alert(1)", false],
  ["data:text/html,x", false],
  ["file:///etc/passwd", false],
  ["https://", false],
  ["", false],
])("whether %j is a link: %j", (address, expected) => {
  expect(isOutward(address, OWN)).toBe(expected);
});
