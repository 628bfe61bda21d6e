/** How a message got to its reader: each step with its time, told by the log. Pure. */

import { fields, number, text } from "../../feed/data";
import type { Event, Message, MessageState, Time } from "../../wire";
import { isOver, stateTold } from "./pages";
import { USER } from "./threads";

export type Step = {
  state: MessageState;
  /** When it was reached; nothing if it is yet to come, or if that is not known. */
  at: Time | null;
  /** How long it took since the step before. */
  tookMs: number | null;
  isReached: boolean;
};

/** One time that it was tried. */
export type Round = {
  steps: Step[];
  /** Why it ended as it did, if there is more to say. */
  reason: string | null;
};

export type Journey = {
  /** What was tried before, the oldest first. */
  before: Round[];
  /** What is tried now, or was last, with the steps that are yet to come. */
  now: Round;
  /** How long it took in all until it was read. */
  tookMs: number | null;
  evidence: string | null;
};

/** The way of a message to an agent. Not every reader tells of each step. */
const WAY: ReadonlyArray<MessageState> = ["queued", "typing", "submitted", "claimed", "delivered"];
const WAY_TO_PERSON: ReadonlyArray<MessageState> = ["queued", "delivered"];

/** Returns a message's journey. Without events of it, what the message itself tells. */
export function journeyOf(message: Message, events: ReadonlyArray<Event>): Journey {
  const rounds = roundsOf(message, events);
  const now = rounds.pop() ?? { steps: [], reason: null };
  const delivered = events.findLast(({ kind }) => kind === "message.delivered");
  return {
    before: rounds,
    now: { steps: withAhead(now.steps, message), reason: message.reason ?? now.reason },
    tookMs: number(fields(delivered?.data), "took_ms") ?? tookInAll(message),
    evidence: message.evidence,
  };
}

function tookInAll({ created_at, delivered_at }: Message): number | null {
  return delivered_at === null ? null : Date.parse(delivered_at) - Date.parse(created_at);
}

/** Returns each time that it was tried, the oldest first. What waits again begins anew. */
function roundsOf(message: Message, events: ReadonlyArray<Event>): Round[] {
  const rounds: Round[] = [{ steps: [], reason: null }];
  for (const event of events) {
    const state = stateTold(event.kind);
    if (state === null) continue;
    let round = rounds[rounds.length - 1];
    if (round === undefined || (state === "queued" && round.steps.length > 0)) {
      round = { steps: [], reason: null };
      rounds.push(round);
    }
    if (round.steps.at(-1)?.state === state) continue;
    round.steps.push(reached(state, event.at, round.steps.at(-1)));
    round.reason = text(fields(event.data), "reason") ?? round.reason;
  }
  const last = rounds[rounds.length - 1];
  if (last !== undefined) fill(last.steps, message);
  return rounds;
}

/** Adds what the message tells and the events do not: where it began, and where it is. */
function fill(steps: Step[], message: Message): void {
  if (steps.length === 0) steps.push(reached("queued", message.created_at, undefined));
  const first = steps[0];
  if (first !== undefined && first.state !== "queued") {
    steps.unshift(reached("queued", message.created_at, undefined));
    steps[1] = reached(first.state, first.at, steps[0]);
  }
  const last = steps.at(-1);
  if (last === undefined || last.state === message.state) return;
  const at = message.state === "delivered" ? message.delivered_at : null;
  steps.push(reached(message.state, at, last));
}

function reached(state: MessageState, at: Time | null, after: Step | undefined): Step {
  const tookMs =
    at === null || after === undefined || after.at === null
      ? null
      : Math.max(0, Date.parse(at) - Date.parse(after.at));
  return { state, at, tookMs, isReached: true };
}

/** Returns the steps with those that are yet to come, if it is still on its way. */
function withAhead(steps: ReadonlyArray<Step>, message: Message): Step[] {
  const last = steps.at(-1);
  if (last === undefined || isOver(last.state)) return [...steps];
  const way = message.to === USER ? WAY_TO_PERSON : WAY;
  const been = new Set(steps.map(({ state }) => state));
  const here = way.findLastIndex((state) => been.has(state));
  const ahead = way.slice(here + 1);
  return [
    ...steps,
    ...ahead.map((state): Step => ({ state, at: null, tookMs: null, isReached: false })),
  ];
}
