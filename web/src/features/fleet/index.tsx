/** The fleet: all agents, or those of a project; who needs a person first. */

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Bot, FolderPlus, Inbox, Plus, SearchX } from "lucide-react";
import { type RefObject, useMemo, useRef, useState } from "react";
import { openQuestions } from "../../feed/questions";
import type { FleetState } from "../../feed/state";
import { useAgents, useFleet, useProjects } from "../../feed/store";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { Empty } from "../../shared/empty";
import { INPUT } from "../../shared/field";
import { counted } from "../../shared/format";
import { useShortcuts } from "../../shared/keys";
import { Page } from "../../shared/page";
import type { Agent } from "../../wire";
import { linesOf } from "./lines";
import { FleetList } from "./list";
import { SpawnDialog } from "./spawn";

export function FleetPage() {
  const { project: id } = useParams({ strict: false });
  const { q = "", new: asked } = useSearch({ strict: false });
  const navigate = useNavigate();
  const everyProject = useProjects();
  const agents = useAgents(id);
  const [spawnIn, setSpawnIn] = useState<string | undefined>(id);
  const finder = useRef<HTMLInputElement>(null);
  const project = everyProject.find((one) => one.id === id);
  const search = (change: { q?: string | undefined; new?: string | undefined }) =>
    void navigate({ to: ".", search: (old) => ({ ...old, ...change }), replace: true });
  const spawn = (where: string | undefined) => {
    setSpawnIn(where);
    search({ new: "agent" });
  };
  const lines = useMemo(() => {
    const projects = id === undefined ? everyProject : everyProject.filter((one) => one.id === id);
    return linesOf({ agents, projects, query: q.trim(), isOne: id !== undefined });
  }, [agents, everyProject, id, q]);
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
      <Questions project={id} />
      {lines.length > 0 && !(agents.length === 0 && id !== undefined) ? (
        <FleetList lines={lines} onSpawn={spawn} />
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

/** The questions that wait for an answer, which need a person as much as an agent that asks does. */
function Questions({ project }: { project: string | undefined }) {
  const count = useFleet((state: FleetState) => {
    const isHere = (where: string | null) => project === undefined || where === project;
    return openQuestions(state).filter((letter) => isHere(letter.project)).length;
  });
  if (count === 0) return null;
  return (
    <Link
      to="/inbox"
      className="flex min-h-9 shrink-0 items-center gap-2 border-b border-asking-edge bg-asking-soft px-3 font-medium text-asking hover:underline rail:px-4"
    >
      <Inbox aria-hidden size={15} />
      {counted(count, "question")} in your inbox
    </Link>
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
