/** The rail at the left: where one can go, the projects, and whether what is shown is how things are. */

import { Link } from "@tanstack/react-router";
import { Folder, FolderX, type LucideIcon, Search } from "lucide-react";
import type { ReactNode } from "react";
import { needsPerson } from "../feed/needs";
import { type FleetState, isTroubled } from "../feed/state";
import { useFleet, useProjects, useUnreadCount } from "../feed/store";
import { Count } from "../shared/badge";
import { Kbd } from "../shared/kbd";
import type { Project } from "../wire";
import { LiveMark } from "./live-mark";
import { openPalette } from "./opened";
import { PLACES, type Place } from "./places";

const ITEM =
  "flex h-8 items-center gap-2 rounded-md px-2 text-quiet hover:bg-hover hover:text-ink " +
  "data-[status=active]:bg-selected data-[status=active]:font-medium data-[status=active]:text-ink";

export function Rail() {
  const projects = useProjects();
  return (
    <nav
      aria-label="Main"
      className="hidden w-60 shrink-0 flex-col border-r border-edge bg-sunken rail:flex"
    >
      <div className="flex h-12 shrink-0 items-center gap-2 px-4">
        <img src="/icon.svg" alt="" width={18} height={18} />
        <span className="text-base font-semibold">cmux</span>
      </div>
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto px-2 pb-2">
        <div className="flex flex-col gap-0.5">
          <button
            type="button"
            onClick={openPalette}
            className="mb-1 flex h-8 items-center gap-2 rounded-md border border-edge bg-panel px-2 text-quiet hover:border-edge-strong hover:text-ink"
          >
            <Search aria-hidden size={15} />
            <span className="flex-1 text-left">Do anything</span>
            <Kbd keys="mod+k" />
          </button>
          {PLACES.map((place) => (
            <RailPlace key={place.to} place={place} />
          ))}
        </div>
        <div className="flex flex-col gap-0.5">
          <h2 className="px-2 pb-1 text-xs font-medium text-faint">Projects</h2>
          {projects.length === 0 && (
            <p className="px-2 text-quiet">
              None yet. Run <code>cmux up</code> in one.
            </p>
          )}
          {projects.map((project) => (
            <RailProject key={project.id} project={project} />
          ))}
        </div>
      </div>
      <div className="flex h-10 shrink-0 items-center border-t border-edge px-4">
        <LiveMark />
      </div>
    </nav>
  );
}

function RailPlace({ place }: { place: Place }) {
  return (
    <Link to={place.to} activeOptions={{ exact: true, includeSearch: false }} className={ITEM}>
      <RailFace icon={place.icon} name={place.name} count={<PlaceCount to={place.to} />} />
    </Link>
  );
}

function RailFace({
  icon: Icon,
  name,
  count,
}: {
  icon: LucideIcon;
  name: string;
  count: ReactNode;
}) {
  return (
    <>
      <Icon aria-hidden size={16} className="shrink-0" />
      <span className="min-w-0 flex-1 truncate">{name}</span>
      {count}
    </>
  );
}

/** How much there is at a place that wants to be seen. */
export function PlaceCount({ to }: { to: Place["to"] }) {
  if (to === "/") return <NeedCount />;
  if (to === "/inbox") return <UnreadCount />;
  if (to === "/health") return <TroubleDot />;
  return null;
}

function NeedCount() {
  const select = (state: FleetState) => [...state.agents.values()].filter(needsPerson).length;
  return <Count value={useFleet(select)} label="need you" tone="asking" />;
}

function UnreadCount() {
  return <Count value={useUnreadCount()} label="unread" tone="busy" />;
}

function TroubleDot() {
  if (!useFleet(isTroubled)) return null;
  return (
    <span className="mx-1.5 inline-block size-2 rounded-full bg-failed">
      <span className="sr-only">degraded</span>
    </span>
  );
}

function RailProject({ project }: { project: Project }) {
  const countAll = (state: FleetState) => of(state, project.id).length;
  const countNeeds = (state: FleetState) => of(state, project.id).filter(needsPerson).length;
  const all = useFleet(countAll);
  const needed = useFleet(countNeeds);
  const isMissing = project.missing_since !== null;
  return (
    <Link
      to="/projects/$project"
      params={{ project: project.id }}
      activeOptions={{ includeSearch: false }}
      className={ITEM}
      title={isMissing ? `${project.root} is not there` : project.root}
    >
      <RailFace
        icon={isMissing ? FolderX : Folder}
        name={project.name}
        count={
          needed > 0 ? (
            <Count value={needed} label="need you" tone="asking" />
          ) : (
            <span className="pr-1 text-xs text-faint">
              {all}
              <span className="sr-only"> agents</span>
            </span>
          )
        }
      />
    </Link>
  );
}

function of(state: FleetState, project: string) {
  return [...state.agents.values()].filter((agent) => agent.project === project);
}
