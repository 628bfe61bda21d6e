/** The fleet: all agents, or those of a project; who needs a person first. */

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Bot, FolderPlus, Plus, SearchX } from "lucide-react";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useAgents, useProjects } from "../../feed/store";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { Empty } from "../../shared/empty";
import { INPUT } from "../../shared/field";
import { counted } from "../../shared/format";
import { useShortcuts } from "../../shared/keys";
import { Page } from "../../shared/page";
import type { Agent } from "../../wire";
import { ChosenBar, NeedsBar } from "./bar";
import { between, type Line, linesOf } from "./lines";
import { type Choosing, FleetList } from "./list";
import { SpawnDialog } from "./spawn";

export function FleetPage() {
  const { project: id } = useParams({ strict: false });
  const { q = "", new: asked } = useSearch({ strict: false });
  const navigate = useNavigate();
  const everyProject = useProjects();
  const agents = useAgents(id);
  const [spawnIn, setSpawnIn] = useState<string | undefined>();
  const finder = useRef<HTMLInputElement>(null);
  const project = everyProject.find((one) => one.id === id);
  const search = (change: { q?: string | undefined; new?: string | undefined }) =>
    void navigate({ to: ".", search: (old) => ({ ...old, ...change }), replace: true });
  const spawn = (where: string | undefined) => {
    setSpawnIn(where);
    search({ new: "agent" });
  };
  // The project that was meant is meant once.
  useEffect(() => {
    if (asked !== "agent") setSpawnIn(undefined);
  }, [asked]);
  const lines = useMemo(() => {
    const projects = id === undefined ? everyProject : everyProject.filter((one) => one.id === id);
    return linesOf({ agents, projects, query: q.trim(), isOne: id !== undefined });
  }, [agents, everyProject, id, q]);
  const choosing = useChoosing(agents, lines);
  useShortcuts([
    { keys: "n", label: "Spawn an agent", group: "Fleet", run: () => spawn(id) },
    { keys: "/", label: "Find an agent", group: "Fleet", run: () => finder.current?.focus() },
  ]);
  return (
    <Page
      title={project?.name ?? "Fleet"}
      detail={
        <span className="hidden rail:inline">
          <Summary agents={agents} />
        </span>
      }
      actions={
        everyProject.length > 0 && (
          <>
            <Finder
              field={finder}
              query={q}
              onChange={(next) => search({ q: next || undefined })}
            />
            <Button
              look="primary"
              icon={Plus}
              onClick={() => spawn(id)}
              aria-label="Spawn an agent"
            >
              <span className="hidden rail:inline">Spawn</span>
            </Button>
          </>
        )
      }
    >
      {choosing.chosen.length > 0 ? (
        <ChosenBar chosen={choosing.chosen} onClear={choosing.clear} />
      ) : (
        everyProject.length > 0 && <NeedsBar project={id} />
      )}
      {lines.length > 0 && !(agents.length === 0 && id !== undefined) ? (
        <FleetList lines={lines} scope={`${id} ${q}`} choosing={choosing} onSpawn={spawn} />
      ) : (
        <Nothing
          isUnknown={id !== undefined && project === undefined}
          hasProject={everyProject.length > 0}
          query={q}
          onSpawn={() => spawn(id)}
        />
      )}
      <SpawnDialog
        open={asked === "agent"}
        onClose={() => search({ new: undefined })}
        project={spawnIn ?? id}
      />
    </Page>
  );
}

/** Which agents are chosen, to do something to all of them. Those that are gone are not. */
function useChoosing(agents: ReadonlyArray<Agent>, lines: ReadonlyArray<Line>): Choosing {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const latest = useRef(lines);
  latest.current = lines;
  const chosen = useMemo(() => agents.filter(({ id }) => ids.has(id)), [agents, ids]);
  const clear = useCallback(() => setIds(new Set()), []);
  const choose = useCallback((id: string, isRange: boolean) => {
    const from = last.current;
    last.current = id;
    setIds((was) => {
      const next = new Set(was);
      if (isRange && from !== null) {
        for (const one of between(latest.current, from, id)) next.add(one);
      } else if (!next.delete(id)) {
        next.add(id);
      }
      return next;
    });
  }, []);
  return { chosen, ids, choose, clear };
}

/** How many there are, and how many of them work. */
function Summary({ agents }: { agents: ReadonlyArray<Agent> }) {
  if (agents.length === 0) return null;
  const busy = agents.filter(({ phase }) => phase === "busy").length;
  return `${counted(agents.length, "agent")}${busy > 0 ? `, ${busy} busy` : ""}`;
}

type FinderProps = {
  field: RefObject<HTMLInputElement | null>;
  query: string;
  onChange: (query: string) => void;
};

function Finder({ field, query, onChange }: FinderProps) {
  return (
    <input
      ref={field}
      type="search"
      aria-label="Find an agent"
      placeholder="Find…"
      value={query}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onChange("");
        event.currentTarget.blur();
      }}
      className={classes(INPUT, "h-8 w-24 rail:w-44")}
    />
  );
}

type NothingProps = {
  isUnknown: boolean;
  hasProject: boolean;
  query: string;
  onSpawn: () => void;
};

function Nothing({ isUnknown, hasProject, query, onSpawn }: NothingProps) {
  if (isUnknown) {
    return (
      <Empty icon={SearchX} title="There is no such project">
        It may have been forgotten.{" "}
        <Link to="/" className="text-accent underline">
          See all
        </Link>
      </Empty>
    );
  }
  if (!hasProject) {
    return (
      <Empty icon={FolderPlus} title="No project yet" command="cmux up">
        Run this in a repository. It registers the project and starts a supervisor for it, which you
        will see here.
      </Empty>
    );
  }
  if (query !== "") {
    return (
      <Empty icon={SearchX} title={`No agent fits “${query}”`}>
        Names, roles, kinds and phases are looked at.
      </Empty>
    );
  }
  return (
    <Empty
      icon={Bot}
      title="No agents here"
      command="cmux up"
      action={
        <Button look="primary" icon={Plus} onClick={onSpawn}>
          Spawn an agent
        </Button>
      }
    >
      Spawn one, or run this in the project to start its supervisor.
    </Empty>
  );
}
