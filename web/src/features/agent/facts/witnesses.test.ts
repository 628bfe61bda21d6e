import { describe, expect, it } from "vitest";
import { AT } from "../../../feed/samples";
import { describeDecision, describeSaying, describeWitness } from "./witnesses";

const saying = (witness: string, says: string, rule: string | null = null) => ({
  witness,
  says,
  rule,
  line: null,
  at: AT,
});

describe("witnesses", () => {
  it.each([
    ["hooks", "Its hooks"],
    ["oracle", "oracle"],
  ])("%s is %s", (witness, expected) => {
    expect(describeWitness(witness)).toBe(expected);
  });

  it.each([
    ["asking", "needs you"],
    ["asking: may I?", "asking: may I?"],
    ["alive, as process 7", "alive, as process 7"],
  ])("%s is said as %s", (says, expected) => {
    expect(describeSaying(saying("screen", says))).toBe(expected);
  });

  it.each([
    [null, "No witness"],
    [saying("screen", "idle", "footer"), "Its screen says so, by the rule “footer”."],
    [saying("status", "idle"), "Its own status says so."],
  ])("tells why", (decided, expected) => {
    expect(describeDecision("idle", decided)).toContain(expected);
  });
});
