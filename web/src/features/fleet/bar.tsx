/** The bar above the agents, which is always there: what a person is needed for, or what is done to those chosen. */

import { Link } from "@tanstack/react-router";
import { Inbox, X } from "lucide-react";
import { needsPerson } from "../../feed/needs";
import { openQuestions } from "../../feed/questions";
import type { FleetState } from "../../feed/state";
import { useFleet } from "../../feed/store";
import { Button, IconButton } from "../../shared/button";
import { classes } from "../../shared/classes";
import { counted } from "../../shared/format";
import { canTend, describeTending, type Tending, tendAll } from "../../shared/tend";
import type { Agent } from "../../wire";

const BAR = "flex h-10 shrink-0 items-center gap-2 border-b border-edge px-3 rail:px-4";

/** How much a person is needed for, in all or in a project. It is as high as ever if there is nothing. */
export function NeedsBar({ project }: { project: string | undefined }) {
  const isHere = (where: string | null) => project === undefined || where === project;
  const questions = useFleet(
    (state: FleetState) => openQuestions(state).filter((letter) => isHere(letter.project)).length,
  );
  const needing = useFleet(
    (state: FleetState) =>
      [...state.agents.values()].filter((agent) => needsPerson(agent) && isHere(agent.project))
        .length,
  );
  const isNeeded = questions > 0 || needing > 0;
  return (
    <div className={classes(BAR, isNeeded ? "bg-asking-soft text-asking" : "text-quiet")}>
      {needing > 0 && (
        <span className="mr-2 font-medium">
          {counted(needing, "agent needs", "agents need")} you
        </span>
      )}
      {questions > 0 && (
        <Link to="/inbox" className="flex items-center gap-2 font-medium hover:underline">
          <Inbox aria-hidden size={15} />
          {counted(questions, "question")} in your inbox
        </Link>
      )}
      {!isNeeded && "Nobody needs you"}
    </div>
  );
}

/** What can be done to several at once. What cannot be undone is asked before. */
const AT_ONCE: ReadonlyArray<Tending> = ["pause", "resume", "restart", "stop"];

type Props = { chosen: ReadonlyArray<Agent>; onClear: () => void };

/** What is done to the agents that were chosen, in the place of the bar. */
export function ChosenBar({ chosen, onClear }: Props) {
  return (
    <section aria-label="Chosen agents" className={classes(BAR, "bg-selected")}>
      <span className="font-medium whitespace-nowrap" role="status">
        {chosen.length} chosen
      </span>
      {AT_ONCE.map((what) => {
        const { label, icon } = describeTending(what);
        return (
          <Button
            key={what}
            icon={icon}
            aria-label={`${label} those chosen`}
            disabled={!chosen.some((agent) => canTend(agent, what))}
            onClick={() => void tendAll(chosen, what)}
            className="px-2 rail:px-3"
          >
            <span className="hidden rail:inline">{label}</span>
          </Button>
        );
      })}
      <span className="ml-auto">
        <IconButton icon={X} label="Choose nobody" onClick={onClear} />
      </span>
    </section>
  );
}
