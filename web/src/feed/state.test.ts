import { expect, test } from "vitest";
import type { Condition, Health } from "../wire";
import { status } from "./samples";
import { begun, isTroubled } from "./state";

test.each<[string, string, Condition | null, string | null, boolean]>([
  ["nothing is wrong", "healthy", null, null, false],
  ["all parts are healthy", "healthy", "healthy", null, false],
  ["a part is not", "healthy", "degraded", null, true],
  ["the store was not when it was asked", "degraded", null, null, true],
  ["the store was not, and is again", "degraded", "healthy", null, false],
  ["it is in safe mode", "healthy", null, "it ended too often", true],
  ["it is in safe mode and all parts are healthy", "healthy", "healthy", "too often", true],
])("whether cmux is in trouble if %s", (_, store, parts, safe_mode, expected) => {
  const known = status();
  const told = {
    ...known,
    store: { ...known.store, status: store },
    daemon: { ...known.daemon, safe_mode },
  };
  const health = parts === null ? null : ({ status: parts } as Health);
  expect(isTroubled({ ...begun(told, []), health })).toBe(expected);
});
