/** An agent's terminal, as it is. It is loaded when it is shown, and is one agent's for as long as it is there. */

import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { classes } from "../../../shared/classes";
import { useShade } from "../../../shared/theme";
import type { Agent } from "../../../wire";
import { isTyping } from "./chord";
import type { Emulator } from "./emulator";
import type { LinkState } from "./link";
import { Session } from "./session";
import { useLetters, useRead } from "./wishes";

/** What can be done to a terminal from beside it. */
export type Controls = {
  /** Types, whether the keyboard is taken or not. */
  press: (text: string) => void;
  focus: () => void;
  /** Returns how large letters are. */
  font: () => number;
};

type Props = {
  agent: Agent;
  isTaken: boolean;
  onState: (state: LinkState) => void;
  onLeave: () => void;
  onFocus: (hasFocus: boolean) => void;
  /** Something was typed that nobody takes. */
  onRefused: () => void;
  onReady: (controls: Controls | null) => void;
};

export default function Screen(props: Props) {
  const { agent, isTaken } = props;
  const box = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [session, setSession] = useState<Session | null>(null);
  const shade = useShade();
  const letters = useLetters();
  const isRead = useRead();
  const first = useRef({ agent, shade });
  first.current = { agent, shade };

  useEffect(() => {
    if (box.current === null || host.current === null) return;
    const { agent, shade } = first.current;
    const begun = new Session(agent, box.current, host.current, shade, {
      onState: (state) => latest.current.onState(state),
      onLeave: () => latest.current.onLeave(),
      onFocus: (hasFocus) => latest.current.onFocus(hasFocus),
    });
    setSession(begun);
    latest.current.onReady({
      press: (text) => begun.press(text),
      focus: () => begun.emulator.terminal.focus(),
      font: () => begun.emulator.font(),
    });
    return () => {
      latest.current.onReady(null);
      setSession(null);
      begun.end();
    };
  }, []);

  useEffect(() => session?.emulator.paint(shade), [session, shade]);
  useEffect(() => session?.write(letters), [session, letters]);
  useEffect(() => session?.emulator.read(isRead), [session, isRead]);
  useEffect(() => session?.take(isTaken), [session, isTaken]);
  useEffect(() => session?.follow(agent), [session, agent]);

  const hear = (event: KeyboardEvent) => {
    if (isTaken || session === null || scroll(event, session.emulator)) return;
    if (!isTyping(event)) return;
    // Whoever types here means the agent, and none of the page's shortcuts.
    event.preventDefault();
    props.onRefused();
  };
  return (
    <div ref={box} className="min-h-0 flex-1 overflow-auto bg-panel p-2">
      <section
        ref={host}
        tabIndex={isTaken ? -1 : 0}
        aria-label={
          isTaken ? `Terminal of ${agent.name}, which has your keys` : `Terminal of ${agent.name}`
        }
        data-takes-keys={isTaken ? "" : undefined}
        // A terminal wants the focus for itself when it is clicked, which it cannot have.
        onMouseDown={() => !isTaken && host.current?.focus({ preventScroll: true })}
        onKeyDown={hear}
        onCopy={(event) => session !== null && copy(event, session.emulator)}
        className={classes("min-w-fit font-mono outline-offset-4", isTaken && "cursor-text")}
      />
    </div>
  );
}

/** Scrolls by the keys by which pages are scrolled. Returns whether it was one of them. */
function scroll(event: KeyboardEvent, { terminal }: Emulator): boolean {
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
      return false;
  }
  event.preventDefault();
  return true;
}

/** Copies what is selected, while the terminal itself has no focus and so does not hear of it. */
function copy(event: ClipboardEvent, { terminal }: Emulator): void {
  if (!terminal.hasSelection()) return;
  event.clipboardData.setData("text/plain", terminal.getSelection());
  event.preventDefault();
}
