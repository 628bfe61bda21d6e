/** The log: everything that happens, as it happens. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { Activity, SearchX } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { useLive } from "../../feed/live";
import { useFleet } from "../../feed/store";
import { useActions } from "../../shared/actions";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { Empty, ErrorNote } from "../../shared/empty";
import { INPUT } from "../../shared/field";
import { FilterBar } from "../../shared/filter-bar";
import { counted } from "../../shared/format";
import { useShortcuts } from "../../shared/keys";
import { Page } from "../../shared/page";
import { useWhose } from "../../shared/whose";
import { shownActions } from "./actions";
import { FAMILIES, isFiltering } from "./filter";
import { LogList } from "./log-list";
import { MATCHES_MAX } from "./matches";
import { type Matching, useMatching } from "./matching";
import type { Rows } from "./rows";
import type { ActivitySearch } from "./search";
import { useWholeLog, type WholeLog } from "./whole-log";

export function ActivityPage() {
  const search = useSearch({ from: "/activity" });
  const navigate = useNavigate({ from: "/activity" });
  const set = useCallback(
    (change: ActivitySearch) =>
      void navigate({
        search: (old) => ({ ...old, ...change }),
        replace: true,
        // The log itself knows what is to be in sight.
        resetScroll: false,
      }),
    [navigate],
  );
  const open = useCallback((at: number | undefined) => set({ at }), [set]);
  const only = useCallback((kind: string) => set({ kind }), [set]);
  useActions(shownActions(search, () => set(NO_FILTER)));
  const isFiltered = isFiltering(search);
  const whole = useWholeLog(search.at, !isFiltered);
  const matching = useMatching(search, isFiltered);
  const rows = isFiltered ? matching : whole;
  useRetry(rows);
  const isNothing = isFiltered ? matching.isAll && matching.count === 0 : false;
  return (
    <Page
      title="Activity"
      detail={isFiltered ? <FoundCount matching={matching} /> : <EventCount first={whole.first} />}
      bar={<Filters search={search} onChange={set} />}
    >
      {rows.error !== null && (
        <ErrorNote error={rows.error} what="The log cannot be read" onRetry={rows.retry} />
      )}
      {isNothing ? (
        <Empty
          icon={SearchX}
          title="Nothing in the log fits"
          command="cmux events -f"
          action={<Button onClick={() => set(NO_FILTER)}>Clear the filters</Button>}
        >
          The whole log was looked at. In a terminal, this follows it.
        </Empty>
      ) : (
        <LogList
          key={isFiltered ? JSON.stringify({ ...search, at: undefined }) : "whole"}
          rows={rows}
          open={search.at}
          onOpen={open}
          onKind={only}
          onNewest={whole.newest}
          top={isFiltered ? <MatchesTop matching={matching} /> : <LogTop whole={whole} />}
          bottom={
            !isFiltered &&
            whole.newer !== null && <More label="Show newer events" onMore={whole.newer} />
          }
        />
      )}
    </Page>
  );
}

/** Asks again for what could not be read, as soon as the daemon is there again. */
function useRetry({ error, retry }: Rows): void {
  const { is } = useLive();
  const latest = useRef({ error, retry });
  latest.current = { error, retry };
  useEffect(() => {
    if (is === "live" && latest.current.error !== null) latest.current.retry();
  }, [is]);
}

const NO_FILTER: ActivitySearch = {
  project: undefined,
  agent: undefined,
  kind: undefined,
  q: undefined,
};

/** How many events the log has. Those that were archived are not in it. */
function EventCount({ first }: { first: number | null }) {
  const head = useFleet((state) => state.head);
  return first === null ? null : counted(Math.max(0, head - first + 1), "event");
}

function FoundCount({ matching }: { matching: Matching }) {
  return `${counted(matching.count, "event")}${matching.isAll ? "" : " so far"}`;
}

function More({ label, onMore }: { label: string; onMore: () => void }) {
  return (
    <div className="flex justify-center py-3">
      <Button onClick={onMore}>{label}</Button>
    </div>
  );
}

/** What is before the oldest event that is laid out. */
function LogTop({ whole }: { whole: WholeLog }) {
  if (whole.older !== null) return <More label="Show older events" onMore={whole.older} />;
  if (whole.count === 0) return null;
  return (
    <p className="flex items-center justify-center gap-1.5 py-2 text-xs text-faint">
      <Activity aria-hidden size={13} /> The log begins here
    </p>
  );
}

/** How far was looked for what fits. It is as high in each case, so that nothing moves. */
function MatchesTop({ matching }: { matching: Matching }) {
  const said = () => {
    if (matching.isFull) {
      return `These are the newest ${MATCHES_MAX.toLocaleString("en-US")}. Narrow the filters to see older ones.`;
    }
    if (matching.isAll) return "Nothing older fits";
    const from = matching.scannedFrom.toLocaleString("en-US");
    return matching.isLooking
      ? `Looking further back, before event ${from}…`
      : "Scroll up for more";
  };
  return (
    <p role="status" className="flex h-8 items-center justify-center px-3 text-xs text-faint">
      {said()}
    </p>
  );
}

type FiltersProps = { search: ActivitySearch; onChange: (change: ActivitySearch) => void };

function Filters({ search, onChange }: FiltersProps) {
  const whose = useWhose(search, onChange);
  return (
    <FilterBar
      isFiltered={search.q !== undefined}
      onClear={() => onChange(NO_FILTER)}
      filters={[
        ...whose,
        {
          label: "Kind",
          all: "All kinds",
          value: search.kind,
          options: FAMILIES,
          onChange: (kind) => onChange({ kind }),
        },
      ]}
    >
      <Finder query={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
    </FilterBar>
  );
}

/** How long it is waited for the next letter before it is looked for. */
const TYPED_MS = 250;

/** The field to search in. What is typed is looked for after a moment, or at once with Enter. */
function Finder({ query, onChange }: { query: string; onChange: (query: string) => void }) {
  const [typed, setTyped] = useState(query);
  const field = useRef<HTMLInputElement>(null);
  const told = useRef(query);
  if (told.current !== query) {
    told.current = query;
    if (query !== typed.trim()) setTyped(query);
  }
  useEffect(() => {
    if (typed.trim() === query) return;
    const timer = setTimeout(() => onChange(typed.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, query, onChange]);
  useShortcuts([
    { keys: "/", label: "Search the log", group: "Activity", run: () => field.current?.focus() },
  ]);
  return (
    <input
      ref={field}
      type="search"
      aria-label="Search the log"
      placeholder="Search…"
      maxLength={200}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onChange(typed.trim());
        if (event.key !== "Escape") return;
        event.preventDefault();
        setTyped("");
        onChange("");
        event.currentTarget.blur();
      }}
      className={classes(INPUT, "h-8 basis-full rail:w-56 rail:basis-auto")}
    />
  );
}
