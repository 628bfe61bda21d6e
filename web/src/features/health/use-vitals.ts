/** How cmux was in the last hour and how it is: asked for once, and then told by the feed. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ProblemError } from "../../api/request";
import { showHealth, showVitals } from "../../api/routes";
import { useLive } from "../../feed/live";
import { useFleet } from "../../feed/store";
import type { Health, Vital } from "../../wire";
import { withSample } from "./series";

export type VitalSigns = {
  samples: ReadonlyArray<Vital>;
  everyMs: number;
  isPending: boolean;
  /** Whether the daemon has no vitals to tell. */
  isUntold: boolean;
  error: unknown;
  again: () => void;
};

const EVERY_MS = 5_000;

export function useVitals(): VitalSigns {
  const query = useQuery({
    queryKey: ["vitals"],
    queryFn: ({ signal }) => showVitals(signal),
    staleTime: 0,
    gcTime: 0,
  });
  const [samples, setSamples] = useState<ReadonlyArray<Vital>>([]);
  const told = query.data?.samples;
  useEffect(() => {
    if (told === undefined) return;
    // What came meanwhile by the feed goes on after what was told.
    setSamples((since) => since.reduce(withSample, told));
  }, [told]);
  const newest = useFleet((state) => state.vital);
  useEffect(() => {
    if (newest !== null) setSamples((before) => withSample(before, newest));
  }, [newest]);
  useAskedAfterLoss();
  const { error } = query;
  const isUntold = error instanceof ProblemError && error.status === 404;
  return {
    samples,
    everyMs: query.data?.every_ms ?? EVERY_MS,
    isPending: query.isPending,
    isUntold,
    error: isUntold ? null : error,
    again: () => void query.refetch(),
  };
}

/** Asks again once the connection is back, for what was missed. */
function useAskedAfterLoss(): void {
  const queries = useQueryClient();
  const isLive = useLive().is === "live";
  const [wasLost, setLost] = useState(false);
  useEffect(() => {
    if (!isLive) {
      setLost(true);
    } else if (wasLost) {
      setLost(false);
      void queries.invalidateQueries({ queryKey: ["vitals"] });
      void queries.invalidateQueries({ queryKey: ["health"] });
    }
  }, [isLive, wasLost, queries]);
}

/** Returns how each part is: as the feed told it last, or as it is told when asked. */
export function useHealth(): { health: Health | null; error: unknown } {
  const told = useFleet((state) => state.health);
  const query = useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => showHealth(signal),
    staleTime: 0,
    enabled: told === null,
  });
  return { health: told ?? query.data ?? null, error: told === null ? query.error : null };
}
