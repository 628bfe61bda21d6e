import { expect, test } from "vitest";
import { agent } from "../../feed/samples";
import { projectAt } from "./at";

test.each([
  ["/", undefined],
  ["/messages", undefined],
  ["/projects/blog-2", "blog-2"],
  ["/projects/", undefined],
  ["/agents/agt_1", "shop-1"],
  ["/agents/agt_9", undefined],
])("at %s, the project is %s", (path, expected) => {
  expect(projectAt(path, new Map([["agt_1", agent()]]))).toBe(expected);
});
