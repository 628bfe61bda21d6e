/** Says who tells how an agent is, and what they say. */

import { isPhase } from "../../../feed/data";
import { describePhase } from "../../../shared/describe";
import type { Saying } from "../../../wire";

const WITNESSES: Readonly<Record<string, string>> = {
  status: "Its own status",
  hooks: "Its hooks",
  transcript: "Its transcript",
  title: "The title of its window",
  screen: "Its screen",
  process: "Its process",
};

/** Says who a witness is; the wire leaves open which there are. */
export function describeWitness(witness: string): string {
  return WITNESSES[witness] ?? witness;
}

/** Says what a witness says. What is no phase is said in the witness' own words. */
export function describeSaying({ says }: Saying): string {
  if (isPhase(says)) return describePhase(says).label.toLowerCase();
  return says;
}

/** Says in a sentence why an agent is in its phase. */
export function describeDecision(phase: string, decided: Saying | null): string {
  if (decided === null) return "No witness has said so: it follows from what cmux itself did.";
  const who = describeWitness(decided.witness);
  const rule = decided.rule === null ? "" : `, by the rule “${decided.rule}”`;
  return `${who} says so${rule}. Of all who say something about it, it is believed first: ${phase}.`;
}
