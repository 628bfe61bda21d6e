/** Who an agent is, what it does and for how long, and what can be done to it. */

import { Link } from "@tanstack/react-router";
import { ArrowLeft, Ellipsis, Mail, MessageSquarePlus } from "lucide-react";
import { useFleet } from "../../feed/store";
import { Lasting } from "../../shared/age";
import { Button, IconButton } from "../../shared/button";
import { classes } from "../../shared/classes";
import { describeWait } from "../../shared/describe";
import { counted } from "../../shared/format";
import { go } from "../../shared/go";
import { Menu } from "../../shared/menu";
import { PhaseEnd, PhaseLabel } from "../../shared/phase";
import { canTend, describeTending, type Tending, tend, tendMenu } from "../../shared/tend";
import type { Agent } from "../../wire";
import { AnswerButton, Question } from "./asked";

/** The way back to the project. */
export function Back({ agent }: { agent: Agent }) {
  const project = useFleet((state) => state.projects.get(agent.project));
  return (
    <Link
      to="/projects/$project"
      params={{ project: agent.project }}
      aria-label={`Back to ${project?.name ?? "the project"}`}
      className="inline-flex size-8 items-center justify-center rounded-md text-quiet hover:bg-hover hover:text-ink"
    >
      <ArrowLeft aria-hidden size={16} />
    </Link>
  );
}

/** What it is, after its name. */
export function Who({ agent }: { agent: Agent }) {
  const project = useFleet((state) => state.projects.get(agent.project));
  return (
    <span title={agent.cwd}>
      {agent.role}
      <span className="hidden rail:inline">
        {" "}
        · {agent.kind} · {project?.name ?? agent.project}
      </span>
    </span>
  );
}

/** What it does, for how long, and what it waits for. */
export function Doing({ agent }: { agent: Agent }) {
  const isAsking = agent.phase === "asking";
  return (
    <div
      className={classes(
        "flex min-h-9 shrink-0 flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-edge px-3 py-1.5 rail:px-4",
        isAsking && "bg-asking-soft",
        agent.phase === "failed" && "bg-failed-soft",
      )}
    >
      <span className="inline-flex items-center gap-1.5">
        <PhaseLabel agent={agent} />
        <Lasting at={agent.since} className="text-quiet" />
      </span>
      <span className="min-w-0 flex-1 basis-40 break-words text-quiet">
        {describeWait(agent)}
        <PhaseEnd agent={agent} />
        {isAsking && <Question agent={agent} />}
      </span>
      {agent.queue > 0 && (
        <Link
          to="/messages"
          search={{ agent: agent.id, state: "queued" }}
          className="inline-flex items-center gap-1.5 text-quiet hover:underline"
        >
          <Mail aria-hidden size={14} />
          {counted(agent.queue, "message")} {agent.queue === 1 ? "waits" : "wait"}
        </Link>
      )}
      {isAsking && <AnswerButton agent={agent} />}
    </div>
  );
}

/** What is done most, and the rest in a menu. */
export function Actions({ agent }: { agent: Agent }) {
  const write = () => go({ to: "/messages", search: { compose: agent.id } });
  return (
    <>
      <Button icon={MessageSquarePlus} onClick={write} aria-label={`Write to ${agent.name}`}>
        <span className="hidden rail:inline">Write</span>
      </Button>
      <Quick agent={agent} what="interrupt" />
      <Quick agent={agent} what={canTend(agent, "resume") ? "resume" : "pause"} />
      <Menu items={() => tendMenu(agent)}>
        <IconButton icon={Ellipsis} label={`What can be done to ${agent.name}`} look="plain" bare />
      </Menu>
    </>
  );
}

/** A button for what can be done now; on a phone, it is in the menu alone. */
function Quick({ agent, what }: { agent: Agent; what: Tending }) {
  if (!canTend(agent, what)) return null;
  const { label, icon } = describeTending(what);
  return (
    <span className="hidden rail:inline-flex">
      <Button icon={icon} onClick={() => void tend(agent, what)}>
        {label}
      </Button>
    </span>
  );
}
