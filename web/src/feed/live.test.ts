import { beforeEach, expect, test, vi } from "vitest";
import type { Live } from "./live";

beforeEach(() => vi.resetModules());

const REST: Record<string, Live> = {
  behind: { is: "behind" },
  lost: { is: "reconnecting", knownAt: 1 },
  live: { is: "live" },
  out: { is: "signed-out" },
};

test.each([
  ["live", 1],
  ["behind live", 1],
  ["lost behind", 0],
  ["live live", 1],
  ["live lost lost behind live", 2],
  ["live behind live lost live", 3],
  ["live lost out live", 1],
])("while it is %s, it has become live so often", async (ways, times) => {
  const { onLive, setLive } = await import("./live");
  let heard = 0;
  const end = onLive(() => {
    heard += 1;
  });
  for (const way of ways.split(" ")) setLive(REST[way] as Live);
  expect(heard).toBe(times);
  end();
  setLive({ is: "behind" });
  setLive({ is: "live" });
  expect(heard).toBe(times);
});
