/** Says at the rail's foot whether what is shown is how things are. */

import { type Live, useLive } from "../feed/live";
import type { FleetState } from "../feed/state";
import { useFleet } from "../feed/store";
import { classes } from "../shared/classes";

type Mark = { word: string; dot: string };

function describeLive(live: Live): Mark {
  switch (live.is) {
    case "starting":
      return { word: "Connecting…", dot: "bg-off" };
    case "live":
      return { word: "Live", dot: "bg-idle" };
    case "behind":
      return { word: "Catching up…", dot: "bg-asking" };
    case "reconnecting":
      return { word: "Reconnecting…", dot: "bg-failed" };
    case "signed-out":
      return { word: "Signed out", dot: "bg-off" };
  }
}

const versionOf = (state: FleetState) => state.daemon.version;

export function LiveMark() {
  const { word, dot } = describeLive(useLive());
  const version = useFleet(versionOf);
  return (
    <p className="flex w-full items-center gap-2 text-xs text-quiet">
      <span aria-hidden className={classes("size-2 shrink-0 rounded-full", dot)} />
      <span role="status" className="flex-1">
        {word}
      </span>
      <span className="truncate text-faint">{version}</span>
    </p>
  );
}
