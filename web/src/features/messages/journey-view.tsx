/** A message's journey, drawn: each step with its time and how long it took, and what it waits for. */

import { Check, ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { classes } from "../../shared/classes";
import {
  describeEvidence,
  describeMessageState,
  describeWaitingFor,
  TONE_TEXT,
} from "../../shared/describe";
import { clock, counted, duration, moment } from "../../shared/format";
import type { Message, MessageState } from "../../wire";
import { type Journey, journeyOf, type Round, type Step } from "./journey";
import { useJourneyEvents } from "./mail";
import { isOver } from "./pages";
import { stateIcon } from "./state";
import { USER } from "./threads";

/** The journey of a message. One that is over says so in a line, and tells the rest when it is asked. */
export function JourneyView({ message, isNewest }: { message: Message; isNewest: boolean }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOnItsWay = !isOver(message.state);
  const isOpen = chosen ?? (isOnItsWay || (isNewest && message.to !== USER));
  const told = useJourneyEvents(message.id, isOpen);
  const journey = journeyOf(message, told.data?.events ?? []);
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <div className="@container grow basis-60 text-xs text-quiet">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setChosen(!isOpen)}
        className="flex min-h-6 max-w-full items-center gap-1 rounded text-left hover:text-ink"
      >
        <Icon aria-hidden size={13} className="shrink-0" />
        <span className="min-w-0">{summary(message, journey)}</span>
      </button>
      {isOpen && (
        <div className="mt-1 mb-1 flex flex-col gap-1.5">
          <Steps steps={journey.now.steps} state={message.state} />
          <Before rounds={journey.before} />
          {told.data?.isWhole === false && (
            <p>This cmux does not tell the steps that were before this page was opened.</p>
          )}
        </div>
      )}
    </div>
  );
}

/** Says in a sentence where a message is. */
function summary(message: Message, { tookMs, now }: Journey): string {
  const because = now.reason === null || now.reason === "" ? "" : `: ${now.reason}`;
  switch (message.state) {
    case "queued":
      return message.waiting_for === null
        ? "Waits to be typed"
        : `Waits: ${describeWaitingFor(message.waiting_for)}`;
    case "typing":
      return "Is being typed into its reader's prompt";
    case "submitted":
      return "Was submitted; it is not known yet that it was read";
    case "claimed":
      return "Its reader has taken it; it is not known yet that it was read";
    case "delivered":
      return delivered(message, tookMs);
    case "failed":
      return `Failed${because}`;
    case "cancelled":
      return `Taken back${because}`;
    case "expired":
      return `Given up, since it was not read in time${because}`;
    case "in_doubt":
      return `It is being found out whether it was read${because}`;
  }
}

function delivered(message: Message, tookMs: number | null): string {
  if (message.to === USER) {
    return message.read_at === null
      ? "In your inbox, unread"
      : `In your inbox, read ${clock(message.read_at)}`;
  }
  const took = tookMs === null ? "" : ` after ${duration(tookMs)}`;
  const tries = message.attempts > 1 ? `, typed ${counted(message.attempts, "time")}` : "";
  const known = message.evidence === null ? "" : `: ${describeEvidence(message.evidence)}`;
  return `Delivered${took}${tries}${known}`;
}

/** The steps: in a row, or where that has no room one below the other. */
function Steps({ steps, state }: { steps: ReadonlyArray<Step>; state: MessageState }) {
  const here = steps.findLastIndex(({ isReached }) => isReached);
  return (
    <ol aria-label="Its journey" className="flex flex-col gap-y-0.5 @2xl:flex-row @2xl:items-start">
      {steps.map((step, at) => (
        <li
          key={`${step.state} ${step.at}`}
          className="flex items-start"
          aria-current={at === here ? "step" : undefined}
        >
          {at > 0 && <Line step={step} />}
          <StepFace step={step} isHere={at === here && !isOver(state)} />
        </li>
      ))}
    </ol>
  );
}

/** The line to a step, with how long it took. */
function Line({ step }: { step: Step }) {
  return (
    <span aria-hidden className="hidden w-16 flex-col items-center @2xl:flex">
      <span
        className={classes(
          "mt-2 w-full border-t border-edge-strong",
          !step.isReached && "border-dashed",
        )}
      />
      <span className="mt-1.5 text-faint">{tookOf(step)}</span>
    </span>
  );
}

function tookOf({ tookMs }: Step): string {
  return tookMs === null ? "" : duration(tookMs);
}

function StepFace({ step, isHere }: { step: Step; isHere: boolean }) {
  const { label, tone } = describeMessageState(step.state);
  const isPassed = step.isReached && !isHere && !isOver(step.state);
  const Icon = isPassed ? Check : stateIcon(step.state);
  return (
    <span
      className={classes(
        "flex items-center gap-1.5 @2xl:min-w-14 @2xl:flex-col @2xl:gap-0 @2xl:px-1",
        step.isReached ? (isPassed ? "text-quiet" : TONE_TEXT[tone]) : "text-faint",
      )}
    >
      <Icon aria-hidden size={14} className={classes("my-px", !step.isReached && "opacity-60")} />
      <span className={classes("w-16 @2xl:w-auto", isHere && "font-semibold")}>
        {label}
        {!step.isReached && <span className="sr-only"> (not yet)</span>}
      </span>
      <span className="min-h-4 text-faint" title={step.at === null ? undefined : moment(step.at)}>
        {step.at === null ? "" : clock(step.at, true)}
      </span>
      <span className="text-faint @2xl:sr-only">
        {step.tookMs !== null && `after ${tookOf(step)}`}
      </span>
    </span>
  );
}

/** What was tried before. */
function Before({ rounds }: { rounds: ReadonlyArray<Round> }) {
  if (rounds.length === 0) return null;
  return (
    <ul aria-label="Tried before" className="flex flex-col">
      {rounds.map((round, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a round is known by its place alone.
        <li key={at}>{tried(round)}</li>
      ))}
    </ul>
  );
}

function tried({ steps, reason }: Round): string {
  const way = steps.map(({ state }) => describeMessageState(state).label.toLowerCase()).join(", ");
  const began = steps[0]?.at;
  const when = began ? ` at ${clock(began, true)}` : "";
  return `Tried before${when}: ${way}${reason === null ? "" : ` (${reason})`}`;
}
