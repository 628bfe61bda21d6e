/** A word or a number with a ground of its own. */

import type { ReactNode } from "react";
import { classes } from "./classes";
import { TONE_SOFT, type Tone } from "./describe";

type Props = { tone?: Tone; children: ReactNode; className?: string };

/** A word that stands out. */
export function Badge({ tone = "plain", children, className }: Props) {
  return (
    <span
      className={classes(
        "inline-flex h-5 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap",
        TONE_SOFT[tone],
        className,
      )}
    >
      {children}
    </span>
  );
}

/** A number that stands out; nothing if it is none. `label` says what is counted. */
export function Count({ value, label, tone }: { value: number; label: string; tone?: Tone }) {
  if (value === 0) return null;
  return (
    <Badge tone={tone ?? "plain"} className="min-w-5 justify-center">
      <span aria-hidden>{value > 999 ? "999+" : value}</span>
      <span className="sr-only">
        {value} {label}
      </span>
    </Badge>
  );
}
