/** One agent in the fleet: who it is, what it is doing and for how long, and what can be done to it. */

import { Link } from "@tanstack/react-router";
import { Ellipsis, Mail } from "lucide-react";
import { memo } from "react";
import { needsPerson } from "../../feed/needs";
import { Age } from "../../shared/age";
import { Badge } from "../../shared/badge";
import { IconButton } from "../../shared/button";
import { classes } from "../../shared/classes";
import { describeWait } from "../../shared/describe";
import { counted, used } from "../../shared/format";
import { Menu } from "../../shared/menu";
import { PhaseEnd, PhaseLabel } from "../../shared/phase";
import { tendMenu } from "../../shared/tend";
import type { Agent, Project } from "../../wire";
import { CELLS, COLUMNS } from "./columns";

type Props = {
  agent: Agent;
  /** Said with the agent where its project is not told by a heading. */
  project: Project | undefined;
  isChosen: boolean;
  /** Whether anybody is chosen, so that all can be seen to be so or not. */
  isChoosing: boolean;
  onChoose: (id: string, isRange: boolean) => void;
};

/** It is drawn again only when its own agent has changed. */
export const AgentRow = memo(function AgentRow(props: Props) {
  const { agent, project, isChosen, isChoosing, onChoose } = props;
  const wait = describeWait(agent);
  return (
    <div
      className={classes(
        "group/row relative grid h-full grid-cols-[minmax(0,1fr)_auto_2.5rem_2rem] content-center gap-x-2 border-b border-edge pr-1 pl-10 rail:pr-2 hover:bg-hover",
        needsPerson(agent) && "bg-asking-soft/60",
        isChosen && "bg-selected hover:bg-selected",
        COLUMNS,
      )}
    >
      <label className="absolute inset-y-0 left-0 z-10 flex w-10 items-center justify-center">
        <input
          type="checkbox"
          aria-label={`Choose ${agent.name}`}
          checked={isChosen}
          onChange={({ nativeEvent }) =>
            onChoose(agent.id, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
          }
          className={classes(
            "size-4 accent-accent",
            !isChoosing &&
              "opacity-0 group-hover/row:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-60",
          )}
        />
      </label>
      <div className={classes("flex min-w-0 items-center gap-2", CELLS.who)}>
        <Link
          to="/agents/$agent"
          params={{ agent: agent.id }}
          data-row={agent.id}
          className="min-w-0 truncate font-medium outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {agent.name}
        </Link>
        {agent.role !== agent.name && <span className="shrink-0 text-quiet">{agent.role}</span>}
        {project && <Badge>{project.name}</Badge>}
      </div>
      <span className="hidden truncate text-quiet wide:block">{agent.kind}</span>
      <span
        className={classes("flex items-center justify-between gap-2 pr-2 wide:pr-3", CELLS.phase)}
      >
        <PhaseLabel agent={agent} />
        <Age at={agent.since} className="relative z-10 text-xs text-quiet" />
      </span>
      <span className={classes("flex min-w-0 self-center text-quiet", CELLS.waits)} title={wait}>
        <span className="truncate">{wait}</span>
        <PhaseEnd agent={agent} />
      </span>
      <span className={classes("flex items-center justify-end", CELLS.queue)}>
        <Queue length={agent.queue} />
      </span>
      <span className="hidden truncate text-right text-quiet wide:block">{used(agent.usage)}</span>
      <span className={classes("relative z-10", CELLS.menu)}>
        <Menu items={() => tendMenu(agent)}>
          <IconButton
            bare
            icon={Ellipsis}
            label={`What to do with ${agent.name}`}
            className="h-7 wide:h-8"
          />
        </Menu>
      </span>
    </div>
  );
});

function Queue({ length }: { length: number }) {
  if (length === 0) return null;
  return (
    <span className="inline-flex items-center gap-1 text-quiet">
      <Mail aria-hidden size={13} />
      <span aria-hidden>{length}</span>
      <span className="sr-only">{counted(length, "message")} waiting</span>
    </span>
  );
}
