/** The terminal of an agent: what is on it, and on purpose the keyboard for it. */

import {
  Accessibility,
  ALargeSmall,
  Keyboard,
  KeyboardOff,
  PanelRight,
  Unplug,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useActions } from "../../../shared/actions";
import { useAnswering } from "../../../shared/answer";
import { Button } from "../../../shared/button";
import { Empty, Skeleton } from "../../../shared/empty";
import { useShortcuts } from "../../../shared/keys";
import { Loaded, part } from "../../../shared/part";
import { canTend, describeTending, tend } from "../../../shared/tend";
import { toast } from "../../../shared/toast";
import type { Agent } from "../../../wire";
import { Bar, type Beside, besideLabel } from "./bar";
import { CHORD } from "./chord";
import { KeyRow } from "./key-row";
import type { LinkState } from "./link";
import type { Controls } from "./screen";
import { setLetters, setRead, useRead } from "./wishes";

const screen = part(() => import("./screen"));

/** What letters measure before a terminal is there. */
const FONT = 13;

type Props = { agent: Agent; beside: Beside };

export function TerminalPane({ agent, beside }: Props) {
  const [state, setState] = useState<LinkState>({ is: "connecting" });
  const [isTaken, setTaken] = useKeyboard(agent, state);
  const [hasFocus, setFocus] = useState(false);
  const [isRefused, setRefused] = useState(false);
  const controls = useRef<Controls | null>(null);
  const hasOne = state.is !== "none" && state.is !== "apart";
  const isAsking = agent.phase === "asking" && hasOne;
  const take = (isTaken: boolean) => {
    setRefused(false);
    setTaken(isTaken);
    controls.current?.focus();
  };
  const larger = (by: number) => setLetters((controls.current?.font() ?? FONT) + by);
  useAnswer(agent, state, () => take(true));
  useWays(agent, state, isTaken, take, larger);
  useBesideAction(beside);
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <Bar
        agent={agent}
        state={state}
        isTaken={isTaken}
        hasFocus={hasFocus}
        isRefused={isRefused}
        beside={beside}
        onTake={take}
        onLetters={larger}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: nobody uses it; what is left is within it */}
      <div className="relative flex min-h-0 flex-1 flex-col" onBlur={() => setRefused(false)}>
        <Loaded part={screen} name="The terminal" meanwhile={<Loading />}>
          {(Screen) => (
            <Screen
              agent={agent}
              isTaken={isTaken}
              onState={setState}
              onLeave={() => setTaken(false)}
              onFocus={setFocus}
              onRefused={() => setRefused(true)}
              onReady={(ready) => {
                controls.current = ready;
              }}
            />
          )}
        </Loaded>
        <Cover agent={agent} state={state} />
      </div>
      {(isTaken || isAsking) && (
        // It stays for as long as the keyboard is taken, as the pane is made to fit what is left.
        <KeyRow
          name={agent.name}
          isAsking={isAsking}
          onKey={(text) => controls.current?.press(text)}
        />
      )}
    </div>
  );
}

/** Has the palette and the keyboard do what the bar does. */
function useWays(
  agent: Agent,
  state: LinkState,
  isTaken: boolean,
  take: (isTaken: boolean) => void,
  larger: (by: number) => void,
): void {
  const isRead = useRead();
  const change = () =>
    state.is === "open" || isTaken ? take(!isTaken) : toast(`${agent.name} has no terminal now`);
  const title = isTaken ? `Give back the keyboard of ${agent.name}` : `Type into ${agent.name}`;
  const group = "This agent";
  useShortcuts([{ keys: CHORD, label: "Take its keyboard, and give it back", group, run: change }]);
  useActions([
    {
      id: "take keyboard",
      title,
      group,
      keywords: ["terminal", "keyboard", "take"],
      keys: CHORD,
      icon: isTaken ? KeyboardOff : Keyboard,
      run: change,
    },
    ...(
      [
        ["Larger letters in terminals", () => larger(1)],
        ["Smaller letters in terminals", () => larger(-1)],
        ["Letters in terminals that fit", () => setLetters(null)],
      ] as const
    ).map(([title, run]) => ({
      id: title,
      title,
      group,
      keywords: ["font", "size", "zoom"],
      icon: ALargeSmall,
      run,
    })),
    {
      id: "read terminals",
      title: isRead ? "Hide terminals from screen readers" : "Read terminals by a screen reader",
      group,
      keywords: ["accessibility", "aloud"],
      icon: Accessibility,
      run: () => setRead(!isRead),
    },
  ]);
}

/** Has the palette put the conversation beside the terminal, or take it away, where there is room. */
function useBesideAction(beside: Beside): void {
  useActions(
    beside === null
      ? []
      : [
          {
            id: "beside",
            title: besideLabel(beside),
            group: "This agent",
            keywords: ["terminal", "side", "split"],
            icon: PanelRight,
            run: beside.toggle,
          },
        ],
  );
}

/** Takes the keyboard for whoever came to answer, as soon as there is a terminal to answer at. */
function useAnswer(agent: Agent, state: LinkState, take: () => void): void {
  const [isWanted, setWanted] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useAnswering(agent.id, () => setWanted(true));
  useEffect(() => {
    if (!isWanted || state.is === "connecting" || state.is === "lost") return;
    setWanted(false);
    if (state.is === "open") latest.current();
  }, [isWanted, state]);
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
