/** The terminal of an agent: what is on it, and on purpose the keyboard for it. */

import { Keyboard, KeyboardOff, PanelRight, Unplug } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useActions } from "../../../shared/actions";
import { Button, IconButton } from "../../../shared/button";
import { classes } from "../../../shared/classes";
import { Empty, Skeleton } from "../../../shared/empty";
import { Kbd } from "../../../shared/kbd";
import { Loaded, part } from "../../../shared/part";
import { canTend, describeTending, tend } from "../../../shared/tend";
import { toast } from "../../../shared/toast";
import type { Agent } from "../../../wire";
import { KeyRow } from "./key-row";
import type { LinkState } from "./link";

const screen = part(() => import("./screen"));

type Props = {
  agent: Agent;
  /** Puts what is said beside it, or takes it away; nothing where there is no room. */
  beside: { isOpen: boolean; toggle: () => void } | null;
};

export function TerminalPane({ agent, beside }: Props) {
  const [state, setState] = useState<LinkState>({ is: "connecting" });
  const [isTaken, setTaken] = useKeyboard(agent, state);
  const type = useRef<((text: string) => void) | null>(null);
  const isOpen = state.is === "open";
  useActions([
    {
      id: "take keyboard",
      title: isTaken ? `Give back the keyboard of ${agent.name}` : `Type into ${agent.name}`,
      group: "This agent",
      keywords: ["terminal", "keyboard", "take"],
      icon: isTaken ? KeyboardOff : Keyboard,
      run: () => (isOpen ? setTaken(!isTaken) : toast(`${agent.name} has no terminal now`)),
    },
  ]);
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div
        className={classes(
          "flex min-h-10 shrink-0 items-center gap-2 border-b px-3",
          isTaken ? "border-asking-edge bg-asking-soft" : "border-edge",
        )}
      >
        <StateLine state={state} isTaken={isTaken} agent={agent} />
        <div className="ml-auto flex items-center gap-1.5">
          <TakeButton isOpen={isOpen} isTaken={isTaken} onChange={setTaken} />
          {beside && (
            <IconButton
              icon={PanelRight}
              label={beside.isOpen ? "Hide the conversation" : "Show the conversation beside it"}
              aria-pressed={beside.isOpen}
              className={beside.isOpen ? "bg-selected text-ink" : ""}
              onClick={beside.toggle}
            />
          )}
        </div>
      </div>
      <div className="relative flex min-h-0 flex-1 flex-col">
        <Loaded part={screen} name="The terminal" meanwhile={<Loading />}>
          {(Screen) => (
            <Screen
              agent={agent}
              isTaken={isTaken}
              onState={setState}
              onLeave={() => setTaken(false)}
              onReady={(ready) => {
                type.current = ready;
              }}
            />
          )}
        </Loaded>
        <Cover agent={agent} state={state} />
      </div>
      {isTaken && <KeyRow onKey={(text) => type.current?.(text)} />}
    </div>
  );
}

/** Whether the person's keys go to the agent. They come back with every other life of it. */
function useKeyboard(agent: Agent, state: LinkState) {
  const [isTaken, setTaken] = useState(false);
  const run = useRef(agent.run);
  const hasNone = state.is === "none" || state.is === "apart";
  useEffect(() => {
    const isOther = run.current !== agent.run;
    run.current = agent.run;
    if (!isOther && !hasNone) return;
    setTaken((was) => {
      if (was) toast(`You have your keyboard back: ${agent.name} has ended or was started anew`);
      return false;
    });
  }, [agent.run, agent.name, hasNone]);
  return [isTaken, setTaken] as const;
}

type TakeProps = { isOpen: boolean; isTaken: boolean; onChange: (isTaken: boolean) => void };

function TakeButton({ isOpen, isTaken, onChange }: TakeProps) {
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
    <Button icon={Keyboard} disabled={!isOpen} onClick={() => onChange(true)}>
      Take keyboard
    </Button>
  );
}

type LineProps = { state: LinkState; isTaken: boolean; agent: Agent };

/** Says whether what is shown is how it is, and where keys go. */
function StateLine({ state, isTaken, agent }: LineProps) {
  const said = describe(state);
  if (!isTaken) {
    return (
      <p role="status" className="min-w-0 truncate text-quiet">
        {said}
      </p>
    );
  }
  return (
    <p role="status" className="min-w-0 truncate font-medium text-asking">
      {state.is === "open" ? `Your keys go to ${agent.name}` : `${said} Keys go nowhere.`}
      <span className="ml-2 hidden items-center gap-1 font-normal rail:inline-flex">
        <Kbd keys="escape" /> <Kbd keys="escape" /> gives them back
      </span>
    </p>
  );
}

function describe(state: LinkState): string {
  switch (state.is) {
    case "connecting":
      return "Connecting…";
    case "open":
      return "Live. It takes no keys.";
    case "lost":
      return "Lost, and tried again…";
    case "none":
      return "No terminal now";
    case "apart":
      return "Not followed here";
  }
}

function Loading() {
  return (
    <div aria-hidden className="flex min-h-0 flex-1 flex-col gap-2 bg-panel p-3">
      <Skeleton className="h-3.5 w-1/3" />
      <Skeleton className="h-3.5 w-1/2" />
      <Skeleton className="h-3.5 w-1/4" />
    </div>
  );
}

/** What is said over the terminal when there is none. */
function Cover({ agent, state }: { agent: Agent; state: LinkState }): ReactNode {
  switch (state.is) {
    case "connecting":
    case "open":
    case "lost":
      return null;
    case "none":
      return (
        <Over>
          <Empty
            icon={Unplug}
            title="No terminal now"
            action={
              canTend(agent, "resume") && (
                <Button
                  icon={describeTending("resume").icon}
                  onClick={() => void tend(agent, "resume")}
                >
                  Resume {agent.name}
                </Button>
              )
            }
          >
            {state.why}. It is shown here as soon as there is one.
          </Empty>
        </Over>
      );
    case "apart":
      return (
        <Over>
          <Empty
            icon={Unplug}
            title="This terminal is in your own tmux"
            command={`cmux agent attach ${agent.name}`}
          >
            {agent.name} was adopted, and cmux changes nothing in your tmux, so its terminal cannot
            be followed here. This goes there:
          </Empty>
        </Over>
      );
  }
}

function Over({ children }: { children: ReactNode }) {
  return <div className="absolute inset-0 z-10 overflow-y-auto bg-ground">{children}</div>;
}
