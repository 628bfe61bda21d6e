/** Says over the page that what is shown may be old, and from when it is. It moves nothing below it. */

import { CloudOff, LoaderCircle } from "lucide-react";
import { useLive } from "../feed/live";
import { clock } from "../shared/format";

const BANNER =
  "appears fixed bottom-16 left-1/2 z-30 flex w-max max-w-[calc(100vw-1.5rem)] -translate-x-1/2 items-center gap-2 " +
  "rounded-lg border border-asking-edge bg-asking-soft px-3 py-1.5 text-asking shadow-overlay rail:bottom-4";

export function StaleBanner() {
  const live = useLive();
  if (live.is === "reconnecting") {
    return (
      <p role="status" className={BANNER}>
        <CloudOff aria-hidden size={15} className="shrink-0" />
        <span>
          Reconnecting… This is what was known at {clock(live.knownAt, true)}. If it lasts, run{" "}
          <code>cmux status</code>.
        </span>
      </p>
    );
  }
  if (live.is === "behind") {
    return (
      <p role="status" className={BANNER}>
        <LoaderCircle aria-hidden size={15} className="turning shrink-0" />
        <span>Catching up with what happened meanwhile…</span>
      </p>
    );
  }
  return null;
}
