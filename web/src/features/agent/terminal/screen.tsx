/** An agent's terminal, as it is. It is loaded when it is shown, and is one agent's for as long as it is there. */

import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { classes } from "../../../shared/classes";
import { useShade } from "../../../shared/theme";
import type { Agent } from "../../../wire";
import type { Emulator } from "./emulator";
import type { LinkState } from "./link";
import { Session } from "./session";

type Props = {
  agent: Agent;
  isTaken: boolean;
  onState: (state: LinkState) => void;
  onLeave: () => void;
  /** Has what is typed by buttons go where keys go. */
  onReady: (type: ((text: string) => void) | null) => void;
};

export default function Screen({ agent, isTaken, onState, onLeave, onReady }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ onState, onLeave, onReady });
  latest.current = { onState, onLeave, onReady };
  const [session, setSession] = useState<Session | null>(null);
  const shade = useShade();
  const first = useRef({ agent, shade });
  first.current = { agent, shade };

  useEffect(() => {
    if (box.current === null || host.current === null) return;
    const { agent, shade } = first.current;
    const begun = new Session(agent, box.current, host.current, shade, {
      onState: (state) => latest.current.onState(state),
      onLeave: () => latest.current.onLeave(),
    });
    setSession(begun);
    latest.current.onReady((text) => begun.type(text));
    return () => {
      latest.current.onReady(null);
      setSession(null);
      begun.end();
    };
  }, []);

  useEffect(() => session?.emulator.paint(shade), [session, shade]);
  useEffect(() => session?.take(isTaken), [session, isTaken]);
  useEffect(() => session?.follow(agent), [session, agent]);

  return (
    <div ref={box} className="min-h-0 flex-1 overflow-auto bg-panel p-2">
      <section
        ref={host}
        tabIndex={isTaken ? -1 : 0}
        aria-label={
          isTaken ? `Terminal of ${agent.name}, which has your keys` : `Terminal of ${agent.name}`
        }
        data-takes-keys={isTaken ? "" : undefined}
        onKeyDown={(event) => !isTaken && session !== null && scroll(event, session.emulator)}
        onCopy={(event) => session !== null && copy(event, session.emulator)}
        className={classes("min-w-fit font-mono outline-offset-4", isTaken && "cursor-text")}
      />
    </div>
  );
}

/** Scrolls by the keys by which pages are scrolled. */
function scroll(event: KeyboardEvent, { terminal }: Emulator): void {
  switch (event.key) {
    case "PageUp":
      terminal.scrollPages(-1);
      break;
    case "PageDown":
      terminal.scrollPages(1);
      break;
    case "ArrowUp":
      terminal.scrollLines(-1);
      break;
    case "ArrowDown":
      terminal.scrollLines(1);
      break;
    case "Home":
      terminal.scrollToTop();
      break;
    case "End":
      terminal.scrollToBottom();
      break;
    default:
      return;
  }
  event.preventDefault();
}

/** Copies what is selected, while the terminal itself has no focus and so does not hear of it. */
function copy(event: ClipboardEvent, { terminal }: Emulator): void {
  if (!terminal.hasSelection()) return;
  event.clipboardData.setData("text/plain", terminal.getSelection());
  event.preventDefault();
}
