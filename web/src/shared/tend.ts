/** What a person does to an agent: the same words, questions and notes wherever it is done. */

import {
  CircleStop,
  Hand,
  Keyboard,
  Link,
  MessageSquarePlus,
  Pause,
  Play,
  RotateCw,
  SquareTerminal,
  Trash2,
} from "lucide-react";
import { interruptAgent, pauseAgent, restartAgent, resumeAgent, stopAgent } from "../api/routes";
import { forgetAgent, learnAgent } from "../feed/follow";
import type { Agent } from "../wire";
import { answer } from "./answer";
import { copyAndSay, linkTo } from "./clipboard";
import { confirm, type Question } from "./confirm";
import { counted } from "./format";
import { go } from "./go";
import type { MenuItem } from "./menu";
import { toast, toastError } from "./toast";

export type Tending = "interrupt" | "pause" | "resume" | "restart" | "stop" | "forget";

export const TENDINGS: ReadonlyArray<Tending> = [
  "interrupt",
  "pause",
  "resume",
  "restart",
  "stop",
  "forget",
];

/** Returns what doing so is called, and its icon. */
export function describeTending(what: Tending) {
  switch (what) {
    case "interrupt":
      return { label: "Interrupt", icon: Hand };
    case "pause":
      return { label: "Pause", icon: Pause };
    case "resume":
      return { label: "Resume", icon: Play };
    case "restart":
      return { label: "Restart", icon: RotateCw };
    case "stop":
      return { label: "Stop", icon: CircleStop };
    case "forget":
      return { label: "Forget", icon: Trash2 };
  }
}

/** Returns whether something can be done to an agent as it is. */
export function canTend(agent: Agent, what: Tending): boolean {
  switch (what) {
    case "interrupt":
      return agent.phase === "busy" || agent.phase === "asking";
    case "pause":
      return agent.intent === "run";
    case "resume":
      return agent.intent !== "run" || agent.phase === "failed";
    case "restart":
      return agent.intent !== "stop";
    case "stop":
      return agent.intent !== "stop";
    case "forget":
      return agent.pid === null && (agent.phase === "offline" || agent.phase === "failed");
  }
}

/** Returns what the person is asked before, if it cannot be undone. */
function question(agent: Agent, what: Tending): Question | null {
  const { name } = agent;
  switch (what) {
    case "interrupt":
    case "pause":
    case "resume":
      return null;
    case "restart":
      return {
        title: `Restart ${name}?`,
        detail: "Its process is ended, and what it is doing now is lost. Its mail stays.",
        action: "Restart",
        danger: true,
      };
    case "stop":
      return {
        title: `Stop ${name}?`,
        detail:
          "Its process is ended, and what it is doing now is lost. Its mail waits until it is resumed.",
        action: "Stop",
        danger: true,
      };
    case "forget":
      return {
        title: `Forget ${name}?`,
        detail:
          "It leaves the fleet, and mail that waits for it is not delivered. No file of the project is touched.",
        action: "Forget",
        danger: true,
      };
  }
}

async function ask(agent: Agent, what: Tending): Promise<Agent | null> {
  switch (what) {
    case "interrupt":
      return interruptAgent(agent.id);
    case "pause":
      return pauseAgent(agent.id);
    case "resume":
      return resumeAgent(agent.id);
    case "restart":
      return restartAgent(agent.id);
    case "stop":
      return stopAgent(agent.id);
    case "forget":
      await forgetAgent(agent.id);
      return null;
  }
}

/** Returns what the person is told once it is taken on. What takes a while is under way then. */
function done(agent: Agent, what: Tending): string {
  switch (what) {
    case "interrupt":
      return `${agent.name} is being interrupted`;
    case "pause":
      return `${agent.name} is paused`;
    case "resume":
      return `${agent.name} is resumed`;
    case "restart":
      return `${agent.name} is being restarted`;
    case "stop":
      return `${agent.name} is being stopped`;
    case "forget":
      return `${agent.name} is forgotten`;
  }
}

/** Does it, after the person was asked if need be. Returns whether it was done. */
export async function tend(agent: Agent, what: Tending): Promise<boolean> {
  const asked = question(agent, what);
  if (asked !== null && !(await confirm(asked))) return false;
  try {
    const answer = await ask(agent, what);
    if (answer !== null) learnAgent(answer);
    const undo = { label: "Resume", run: () => void tend(agent, "resume") };
    toast(done(agent, what), what === "pause" ? { action: undo } : {});
    return true;
  } catch (error) {
    toastError(error, `${describeTending(what).label} did not work`);
    return false;
  }
}

/** How many are asked for at a time. */
const AT_ONCE_MAX = 4;

/** Does it to all of several with whom it can be done, after the person was asked once if need be. */
export async function tendAll(agents: ReadonlyArray<Agent>, what: Tending): Promise<void> {
  const able = agents.filter((agent) => canTend(agent, what));
  const [first] = able;
  if (first === undefined) return;
  if (able.length === 1) {
    await tend(first, what);
    return;
  }
  const { label } = describeTending(what);
  const asked = question(first, what);
  const title = `${label} ${able.length} agents?`;
  const detail = `For each: ${able.map(({ name }) => name).join(", ")}. ${asked?.detail ?? ""}`;
  if (asked !== null && !(await confirm({ ...asked, title, detail }))) return;
  const left = [...able];
  const errors: unknown[] = [];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      try {
        const answer = await ask(next, what);
        if (answer !== null) learnAgent(answer);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
  if (errors.length > 0) {
    toastError(errors[0], `${label} did not work for ${counted(errors.length, "agent")}`);
  } else {
    toast(`${label}: ${counted(able.length, "agent")}`);
  }
}

/** Returns the menu of an agent: where to go, and what can be done to it. */
export function tendMenu(agent: Agent): MenuItem[] {
  const tending = (what: Tending): MenuItem => {
    const { label, icon } = describeTending(what);
    const isLast = what === "stop" || what === "forget";
    const item = {
      label,
      icon,
      run: () => void tend(agent, what),
      disabled: !canTend(agent, what),
    };
    return isLast ? { ...item, danger: true } : item;
  };
  const pauses = canTend(agent, "resume") ? tending("resume") : tending("pause");
  const answering: MenuItem[] =
    agent.phase === "asking"
      ? [{ label: "Answer it", icon: Keyboard, run: () => answer(agent) }]
      : [];
  return [
    ...answering,
    {
      label: "Open its terminal",
      icon: SquareTerminal,
      run: () =>
        go({ to: "/agents/$agent", params: { agent: agent.id }, search: { tab: "terminal" } }),
    },
    {
      label: "Write to it",
      icon: MessageSquarePlus,
      run: () => go({ to: "/messages", search: { compose: agent.id } }),
    },
    {
      label: "Copy its link",
      icon: Link,
      run: () => void copyAndSay(linkTo(`/agents/${agent.id}`), "The link"),
    },
    "line",
    tending("interrupt"),
    pauses,
    tending("restart"),
    "line",
    tending("stop"),
    tending("forget"),
  ];
}
