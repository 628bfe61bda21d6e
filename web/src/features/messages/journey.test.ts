import { expect, test } from "vitest";
import { event, message } from "../../feed/samples";
import type { Event, Message } from "../../wire";
import { type Journey, journeyOf } from "./journey";

/** An event of the message after so many seconds. */
const after = (seconds: number, state: string, data: object = {}): Event =>
  event(
    `message.${state}`,
    { message: "msg_1", ...data },
    { at: `2026-01-01T10:00:${String(seconds).padStart(2, "0")}.000Z` },
  );

const steps = ({ now }: Journey) =>
  now.steps
    .map(
      (step) =>
        `${step.isReached ? "" : "?"}${step.state}${step.tookMs === null ? "" : `+${step.tookMs / 1000}`}`,
    )
    .join(" ");

/** Checks how a message's last round reads. */
function check(change: Partial<Message>, events: Event[], expected: string): Journey {
  const journey = journeyOf(message({ to: "api", delivered_at: null, ...change }), events);
  expect(steps(journey)).toBe(expected);
  return journey;
}

test("what was not told yet is ahead", () => {
  check({ state: "queued" }, [after(0, "queued")], "queued ?typing ?submitted ?claimed ?delivered");
  const typing = [after(0, "queued"), after(2, "typing")];
  check({ state: "typing" }, typing, "queued typing+2 ?submitted ?claimed ?delivered");
  check({ state: "queued", to: "user" }, [after(0, "queued")], "queued ?delivered");
});

test("a step that a reader does not tell of is left out once it is over", () => {
  const events = [
    after(0, "queued"),
    after(1, "typing"),
    after(2, "submitted"),
    after(5, "delivered", { took_ms: 5_100, evidence: "screen" }),
  ];
  const done = { state: "delivered", evidence: "screen" } as const;
  const { tookMs, evidence } = check(done, events, "queued typing+1 submitted+1 delivered+3");
  expect([tookMs, evidence]).toEqual([5_100, "screen"]);
});

test("what is tried again begins anew, and what was before is kept", () => {
  const events = [
    after(0, "queued"),
    after(1, "typing"),
    after(2, "failed", { reason: "its reader died" }),
    after(3, "retried", { was: "failed" }),
    after(3, "queued"),
    after(4, "typing"),
  ];
  const { before } = check(
    { state: "typing" },
    events,
    "queued typing+1 ?submitted ?claimed ?delivered",
  );
  expect(before.map(({ steps, reason }) => [steps.at(-1)?.state, reason])).toEqual([
    ["failed", "its reader died"],
  ]);
});

test("without events, the message tells what it can", () => {
  check({ state: "queued" }, [], "queued ?typing ?submitted ?claimed ?delivered");
  const delivered = { state: "delivered", delivered_at: "2026-01-01T10:00:07.000Z" } as const;
  expect(check(delivered, [], "queued delivered+7").tookMs).toBe(7_000);
  const failed = check({ state: "failed", reason: "too late" }, [], "queued failed");
  expect(failed.now.reason).toBe("too late");
  check({ state: "in_doubt" }, [], "queued in_doubt ?typing ?submitted ?claimed ?delivered");
});

test("events that came while the page was open are joined to what the message tells", () => {
  check({ state: "submitted" }, [after(4, "submitted")], "queued submitted+4 ?claimed ?delivered");
});
