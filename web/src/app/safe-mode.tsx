/** Says over every page that cmux only reads, why, and what to do about it. */

import { ShieldAlert } from "lucide-react";
import type { FleetState } from "../feed/state";
import { useFleet } from "../feed/store";

const whyOf = (state: FleetState) => state.daemon.safe_mode;

export function SafeMode() {
  const why = useFleet(whyOf);
  if (why === null) return null;
  return (
    <div
      role="alert"
      className="flex shrink-0 items-start gap-2 border-b border-edge bg-failed-soft px-4 py-2 text-failed"
    >
      <ShieldAlert aria-hidden size={16} className="mt-0.5 shrink-0" />
      <p className="min-w-0 break-words">
        <span className="font-medium">Safe mode: nothing but reading is possible.</span> {why}.{" "}
        <code>cmux daemon restart</code> leaves it.
      </p>
    </div>
  );
}
