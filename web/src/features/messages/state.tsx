/** A message's state and kind, as an icon and a word. */

import {
  Ban,
  CheckCheck,
  CircleHelp,
  CircleX,
  Clock,
  CornerDownLeft,
  Eye,
  Keyboard,
  type LucideIcon,
  TimerOff,
} from "lucide-react";
import { Badge } from "../../shared/badge";
import { classes } from "../../shared/classes";
import { describeMessageKind, describeMessageState, TONE_TEXT } from "../../shared/describe";
import type { MessageKind, MessageState } from "../../wire";

/** Returns the icon of a state. */
export function stateIcon(state: MessageState): LucideIcon {
  switch (state) {
    case "queued":
      return Clock;
    case "typing":
      return Keyboard;
    case "submitted":
      return CornerDownLeft;
    case "claimed":
      return Eye;
    case "delivered":
      return CheckCheck;
    case "failed":
      return CircleX;
    case "cancelled":
      return Ban;
    case "expired":
      return TimerOff;
    case "in_doubt":
      return CircleHelp;
  }
}

/** How far a message has come. */
export function StateLabel({ state, className }: { state: MessageState; className?: string }) {
  const { label, tone } = describeMessageState(state);
  const Icon = stateIcon(state);
  return (
    <span
      className={classes(
        "inline-flex shrink-0 items-center gap-1 whitespace-nowrap",
        TONE_TEXT[tone],
        className,
      )}
    >
      <Icon aria-hidden size={13} className="shrink-0" />
      {label}
    </span>
  );
}

/** What a message is. What a person or cmux says is told by its sender. */
export function KindBadge({ kind }: { kind: MessageKind }) {
  if (kind === "user" || kind === "system") return null;
  const { label, tone } = describeMessageKind(kind);
  return <Badge tone={tone}>{label}</Badge>;
}
