/** What is above a terminal: whether it is as it is shown, where keys go, and how to change that. */

import { AArrowDown, AArrowUp, Keyboard, KeyboardOff, PanelRight } from "lucide-react";
import { Button, IconButton } from "../../../shared/button";
import { classes } from "../../../shared/classes";
import { Kbd } from "../../../shared/kbd";
import type { Agent } from "../../../wire";
import { CHORD } from "./chord";
import type { LinkState } from "./link";
import { setRead, useRead } from "./wishes";

/** Puts what is said beside the terminal, or takes it away; nothing where there is no room. */
export type Beside = { isOpen: boolean; toggle: () => void } | null;

/** Says what is done by it. */
export function besideLabel({ isOpen }: NonNullable<Beside>): string {
  return isOpen ? "Hide the conversation" : "Show the conversation beside the terminal";
}

type Props = {
  agent: Agent;
  state: LinkState;
  isTaken: boolean;
  /** Whether the terminal has the focus, without which it has no keys. */
  hasFocus: boolean;
  /** Whether somebody has just typed at a terminal that takes no keys. */
  isRefused: boolean;
  beside: Beside;
  onTake: (isTaken: boolean) => void;
  /** Makes letters larger by so much. */
  onLetters: (by: number) => void;
};

export function Bar({ beside, onTake, onLetters, ...shown }: Props) {
  const { state, isTaken, isRefused } = shown;
  return (
    <div
      className={classes(
        "flex min-h-10 shrink-0 items-center gap-2 border-b px-3",
        isTaken ? "border-asking-edge bg-asking-soft" : "border-edge",
      )}
    >
      <StateLine {...shown} />
      <div className="ml-auto flex items-center gap-1.5">
        <ReadButton />
        <span className="hidden items-center rail:inline-flex">
          <IconButton icon={AArrowDown} label="Smaller letters" onClick={() => onLetters(-1)} />
          <IconButton icon={AArrowUp} label="Larger letters" onClick={() => onLetters(1)} />
        </span>
        <TakeButton
          isOpen={state.is === "open"}
          isTaken={isTaken}
          isWanted={isRefused}
          onChange={onTake}
        />
        {beside && (
          <IconButton
            icon={PanelRight}
            label={besideLabel(beside)}
            aria-pressed={beside.isOpen}
            className={beside.isOpen ? "bg-selected text-ink" : ""}
            onClick={beside.toggle}
          />
        )}
      </div>
    </div>
  );
}

/** Writes what is on terminals for screen readers, too. It is seen when it has the focus. */
function ReadButton() {
  const isRead = useRead();
  return (
    <Button
      aria-pressed={isRead}
      className="not-focus-visible:sr-only"
      onClick={() => setRead(!isRead)}
    >
      Read by a screen reader
    </Button>
  );
}

type TakeProps = {
  isOpen: boolean;
  isTaken: boolean;
  isWanted: boolean;
  onChange: (isTaken: boolean) => void;
};

function TakeButton({ isOpen, isTaken, isWanted, onChange }: TakeProps) {
  if (isTaken) {
    return (
      <Button icon={KeyboardOff} onClick={() => onChange(false)}>
        <span>
          Give back<span className="hidden rail:inline"> the keyboard</span>
        </span>
      </Button>
    );
  }
  return (
    <Button
      icon={Keyboard}
      look={isWanted ? "primary" : "plain"}
      disabled={!isOpen}
      onClick={() => onChange(true)}
    >
      Take keyboard
    </Button>
  );
}

type LineProps = Pick<Props, "agent" | "state" | "isTaken" | "hasFocus" | "isRefused">;

/** Says whether what is shown is how it is, and where keys go. */
function StateLine({ agent, state, isTaken, hasFocus, isRefused }: LineProps) {
  const isLoud = isTaken || isRefused;
  return (
    <p
      role="status"
      className={classes("min-w-0 truncate", isLoud ? "font-medium text-asking" : "text-quiet")}
    >
      {isTaken ? describeKeys(agent, state, hasFocus) : describe(state, isRefused)}
      {(isTaken || (isRefused && state.is === "open")) && (
        <span className="ml-2 hidden items-center gap-1 font-normal rail:inline-flex">
          <Kbd keys={CHORD} /> {isTaken && "gives them back"}
        </span>
      )}
    </p>
  );
}

/** Says where the keys go of somebody who has taken them. */
function describeKeys(agent: Agent, state: LinkState, hasFocus: boolean): string {
  if (state.is !== "open") return `${describe(state, false)} What you type waits a few seconds.`;
  if (hasFocus) return `Your keys go to ${agent.name}`;
  return `Click the terminal to type into ${agent.name}`;
}

function describe(state: LinkState, isRefused: boolean): string {
  switch (state.is) {
    case "connecting":
      return "Connecting…";
    case "open":
      return isRefused
        ? "That was not sent: take the keyboard to type."
        : "Live. It takes no keys.";
    case "lost":
      return "Lost, and tried again…";
    case "none":
      return "No terminal now";
    case "apart":
      return "Not followed here";
  }
}
