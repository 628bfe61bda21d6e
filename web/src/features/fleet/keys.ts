/** The keys of the fleet: from agent to agent, and what is done to the one that has the focus or is pointed at. */

import type { RefObject } from "react";
import { type Shortcut, useShortcuts } from "../../shared/keys";
import { useRowSteps } from "../../shared/row-keys";
import { canTend, type Tending, tend, tendAll } from "../../shared/tend";
import type { Agent } from "../../wire";
import type { Line } from "./lines";
import type { Choosing } from "./list";

type Keys = {
  lines: ReadonlyArray<Line>;
  scroller: RefObject<HTMLElement | null>;
  choosing: Choosing;
  show: (at: number) => void;
};

const GROUP = "Fleet";

export function useRowKeys({ lines, scroller, choosing, show }: Keys): void {
  const rows = () =>
    lines.flatMap((line, at) => (line.what === "agent" ? [{ key: line.key, at }] : []));
  useRowSteps({ noun: "agent", group: GROUP, scroller, rows, show });
  const here = (): Element | null => {
    const box = scroller.current;
    return box?.querySelector("li:focus-within") ?? box?.querySelector("li:hover") ?? null;
  };
  const agentHere = (): Agent | undefined => {
    const id = here()?.querySelector("[data-row]")?.getAttribute("data-row");
    const line = lines.find(({ key }) => key === id);
    return line?.what === "agent" ? line.agent : undefined;
  };
  /** Does the first of these that can be done: to all who are chosen, or else to the one that is meant. */
  const does = (...ways: Tending[]) => {
    const agent = agentHere();
    const { chosen } = choosing;
    const meant = chosen.length > 0 ? chosen : agent === undefined ? [] : [agent];
    const what = ways.find((way) => meant.some((one) => canTend(one, way)));
    const [only] = meant;
    if (what === undefined || only === undefined) return;
    if (meant.length === 1) void tend(only, what);
    else void tendAll(meant, what);
  };
  const choose = () => {
    const agent = agentHere();
    if (agent !== undefined) choosing.choose(agent.id, false);
  };
  const openMenu = () => here()?.querySelector<HTMLElement>("button[aria-haspopup=menu]")?.click();
  const clear: Shortcut = {
    keys: "escape",
    label: "Choose nobody",
    group: GROUP,
    run: choosing.clear,
  };
  useShortcuts([
    { keys: "x", label: "Choose it, to do something to several", group: GROUP, run: choose },
    { keys: "p", label: "Pause or resume", group: GROUP, run: () => does("pause", "resume") },
    { keys: "s", label: "Stop", group: GROUP, run: () => does("stop") },
    { keys: "m", label: "What else can be done to it", group: GROUP, run: openMenu },
    ...(choosing.chosen.length > 0 ? [clear] : []),
  ]);
}
