/** An agent's phase, as an icon and as a word. */

import {
  CircleCheck,
  CircleDashed,
  CirclePause,
  CirclePlay,
  CircleX,
  Hourglass,
  type LucideIcon,
  MessageCircleQuestionMark,
  Power,
  RotateCw,
} from "lucide-react";
import type { Agent, Intent, Phase } from "../wire";
import { Ahead } from "./age";
import { classes } from "./classes";
import { describePhase, describeStanding, TONE_TEXT } from "./describe";

/** Returns the icon of a phase. */
export function phaseIcon(phase: Phase): LucideIcon {
  switch (phase) {
    case "offline":
      return Power;
    case "starting":
      return CircleDashed;
    case "idle":
      return CircleCheck;
    case "busy":
      return CirclePlay;
    case "asking":
      return MessageCircleQuestionMark;
    case "limited":
      return Hourglass;
    case "down":
      return RotateCw;
    case "failed":
      return CircleX;
  }
}

type Props = { phase: Phase; intent?: Intent; className?: string };

/** A phase as an icon alone. Its name is beside it, or is said to screen readers. */
export function PhaseDot({ phase, intent, className, named }: Props & { named?: boolean }) {
  const { label, tone } = describePhase(phase);
  const Icon = intent === "pause" ? CirclePause : phaseIcon(phase);
  return (
    <>
      <Icon aria-hidden size={15} className={classes("shrink-0", TONE_TEXT[tone], className)} />
      {named && <span className="sr-only">{label}</span>}
    </>
  );
}

/** When an agent's phase is over of itself, if that is known, said after what it waits for. */
export function PhaseEnd({ agent }: { agent: Agent }) {
  if (agent.until === null) return null;
  return (
    <span className="shrink-0 whitespace-pre">
      {agent.phase === "down" ? " · again " : " · over "}
      <Ahead at={agent.until} />
    </span>
  );
}

/** A phase as an icon and a word; a pause is said with it. */
export function PhaseLabel({ agent, className }: { agent: Agent; className?: string }) {
  const { tone } = describePhase(agent.phase);
  return (
    <span className={classes("inline-flex items-center gap-1.5", TONE_TEXT[tone], className)}>
      <PhaseDot phase={agent.phase} intent={agent.intent} />
      <span className="font-medium whitespace-nowrap">{describeStanding(agent)}</span>
    </span>
  );
}
