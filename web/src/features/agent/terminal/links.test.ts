import { describe, expect, it } from "vitest";
import { addressesIn } from "./links";

describe("addressesIn", () => {
  it.each<[string, string[]]>([
    ["nothing here", []],
    ["see https://example.org/a?b=c#d.", ["https://example.org/a?b=c#d"]],
    ["(http://localhost:8000/x)", ["http://localhost:8000/x"]],
    [
      "https://en.wikipedia.org/wiki/Rust_(game), too",
      ["https://en.wikipedia.org/wiki/Rust_(game)"],
    ],
    [
      "[a](https://example.org/a) **https://example.org/b**",
      ["https://example.org/a", "https://example.org/b"],
    ],
    ["│ https://example.org/a │", ["https://example.org/a"]],
    ["│https://example.org/a│", ["https://example.org/a"]],
    ["javascript:alert(1) file:///etc/passwd ftp://example.org", []],
    ["https://", []],
  ])("%s", (text, expected) => {
    expect(addressesIn(text).map((found) => found.text)).toEqual(expected);
  });

  it("tells where each begins", () => {
    expect(addressesIn("a https://b.c d https://e.f").map(({ at }) => at)).toEqual([2, 16]);
  });
});
