import { expect, test } from "vitest";
import { age, ago, ahead, bytes, count, counted, duration, lasting, money, used } from "./format";

test.each([
  [0, "now"],
  [999, "now"],
  [4_200, "4s"],
  [61_000, "1m"],
  [3_600_000, "1h"],
  [7_500_000, "2h 5m"],
  [86_400_000 * 2 + 3_600_000, "2d 1h"],
  [86_400_000 * 30, "30d"],
])("an age of %d ms is %s", (ms, said) => expect(age(ms)).toBe(said));

test.each([
  [0, "just now", "just now", "any moment"],
  [4_200, "4s ago", "for 4s", "in 4s"],
  [7_500_000, "2h 5m ago", "for 2h 5m", "in 2h 5m"],
])("what is %d ms away was %s, lasts %s, or will be %s", (ms, was, lasts, will) => {
  expect(ago(age(ms))).toBe(was);
  expect(ahead(age(ms))).toBe(will);
  expect(lasting(age(ms))).toBe(lasts);
});

test.each([
  [0, "0 ms"],
  [12.4, "12 ms"],
  [999.4, "999 ms"],
  [999.5, "1.0 s"],
  [1_440, "1.4 s"],
  [9_949, "9.9 s"],
  [9_970, "10 s"],
  [42_000, "42 s"],
  [59_499, "59 s"],
  [59_600, "1m"],
  [119_499, "1m 59s"],
  [119_600, "2m"],
  [130_000, "2m 10s"],
  [3_599_499, "59m 59s"],
  [3_599_600, "1h"],
  [3_600_000, "1h"],
  [7_199_600, "2h"],
])("%d ms took %s", (ms, said) => expect(duration(ms)).toBe(said));

test.each([
  [0, "0 B"],
  [512, "512 B"],
  [1_536, "1.5 KB"],
  [20 * 1024 ** 3, "20 GB"],
  [150 * 1024 ** 2, "150 MB"],
])("%d bytes are %s", (value, said) => expect(bytes(value)).toBe(said));

test.each([
  [950, "950"],
  [1_000, "1k"],
  [1_240, "1.2k"],
  [9_990, "10k"],
  [34_400, "34k"],
  [999_600, "1M"],
  [5_600_000, "5.6M"],
  [2_000_000_000, "2G"],
])("%d is %s", (value, said) => expect(count(value)).toBe(said));

test.each([
  [0, "$0.00"],
  [0.004, "<1¢"],
  [0.42, "$0.42"],
  [12.3, "$12.30"],
  [1_204.4, "$1,204"],
])("%d dollars are %s", (usd, said) => expect(money(usd)).toBe(said));

test("what was used is said with its price where that is known", () => {
  const usage = {
    tokens: 12_000,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cost_usd: null,
    unpriced_tokens: 0,
  };
  expect(used({ ...usage, tokens: 0 })).toBe("–");
  expect(used(usage)).toBe("12k tokens");
  expect(used({ ...usage, tokens: 1 })).toBe("1 token");
  expect(used({ ...usage, cost_usd: 0 })).toBe("12k tokens");
  expect(used({ ...usage, cost_usd: 0.4 })).toBe("12k tokens · $0.40");
});

test("a noun is said as there are many of it", () => {
  expect(counted(1, "agent")).toBe("1 agent");
  expect(counted(1_200, "agent")).toBe("1,200 agents");
  expect(counted(2, "reply", "replies")).toBe("2 replies");
});
