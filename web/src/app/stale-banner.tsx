/** Says over the page that what is shown may be old, and from when it is. It moves nothing below it. */

import { CloudOff, LoaderCircle, RefreshCw, X } from "lucide-react";
import { useState } from "react";
import { useLive } from "../feed/live";
import type { FleetState } from "../feed/state";
import { useFleet } from "../feed/store";
import { Button, IconButton } from "../shared/button";
import { classes } from "../shared/classes";
import { clock } from "../shared/format";

const BANNER =
  "appears fixed bottom-16 left-1/2 z-30 flex w-max max-w-[calc(100vw-1.5rem)] -translate-x-1/2 items-center gap-2 " +
  "rounded-lg border px-3 py-1.5 shadow-overlay rail:bottom-4";
const WARNS = classes(BANNER, "border-asking-edge bg-asking-soft text-asking");

const versionOf = (state: FleetState) => state.daemon.version;

export function StaleBanner() {
  const live = useLive();
  const version = useFleet(versionOf);
  const [loadedFrom] = useState(version);
  const [dismissed, setDismissed] = useState<string | null>(null);
  if (live.is === "reconnecting") {
    return (
      <p role="status" className={WARNS}>
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
      <p role="status" className={WARNS}>
        <LoaderCircle aria-hidden size={15} className="turning shrink-0" />
        <span>Catching up with what happened meanwhile…</span>
      </p>
    );
  }
  if (version === loadedFrom || version === dismissed) return null;
  return <Updated version={version} onDismiss={() => setDismissed(version)} />;
}

type UpdatedProps = { version: string; onDismiss: () => void };

/** Offers the page of the cmux that runs, which is another one than the page is of. */
function Updated({ version, onDismiss }: UpdatedProps) {
  return (
    <div role="status" className={classes(BANNER, "border-edge bg-panel")}>
      <span>cmux was updated to {version}. This page is of the version before.</span>
      <Button icon={RefreshCw} onClick={() => location.reload()}>
        Reload
      </Button>
      <IconButton icon={X} label="Not now" onClick={onDismiss} />
    </div>
  );
}
