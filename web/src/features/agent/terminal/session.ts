/** One agent's terminal for as long as it is on screen: what is drawn, how large, and who has the keys. */

import { terminalAddress, whoAmI } from "../../../api/routes";
import { describePhase } from "../../../shared/describe";
import type { Agent } from "../../../wire";
import { Emulator } from "./emulator";
import { type Box, isSame, pieces, type Size } from "./fit";
import { Link, type LinkState, type Wire } from "./link";

/** The longest that is said in one go, in characters. The daemon takes 64 KiB, of which one may be four bytes. */
const SAID_MAX = 8 << 10;

/** How long the room has to stay as it is before the pane is made to fit it. */
const STEADY_MS = 100;

type Wants = {
  onState: (state: LinkState) => void;
  onLeave: () => void;
  onFocus: (hasFocus: boolean) => void;
};

export class Session {
  readonly emulator: Emulator;
  private readonly link: Link;
  private readonly box: HTMLElement;
  private readonly watcher: ResizeObserver;
  private agent: Agent;
  private isTaken = false;
  /** How large the pane is. */
  private size: Size | null = null;
  /** Whether nothing was told by this connection yet. */
  private isNew = true;
  /** Whether the pane was resized by this connection, which the daemon undoes when it ends. */
  private isResized = false;
  private resizing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    agent: Agent,
    box: HTMLElement,
    host: HTMLElement,
    shade: "light" | "dark",
    wants: Wants,
  ) {
    this.agent = agent;
    this.box = box;
    this.emulator = new Emulator(host, shade, {
      onInput: (text) => this.type(text),
      onLeave: wants.onLeave,
      onFocus: wants.onFocus,
      // What is written last may be further down than there is room.
      onShown: (foot) => box.scrollTo({ top: Math.max(0, foot - insideOf(box).height) }),
      onOverrun: () => this.link.anew(),
    });
    this.link = new Link(
      {
        state: (state) => {
          this.isNew = true;
          wants.onState(state);
        },
        size: (size) => this.learn(size),
        bytes: (bytes, isWhole) => this.emulator.draw(bytes, isWhole),
      },
      worldOf(() => this.agent),
    );
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(box);
    document.addEventListener("visibilitychange", this.look);
    addEventListener("online", this.nudge);
  }

  /** Types, if a person has taken the keys. */
  type(text: string): void {
    if (this.isTaken) this.press(text);
  }

  /** Types, as a person wants it who pressed a button for it. */
  press(text: string): void {
    for (const piece of pieces(text, SAID_MAX)) this.link.type(piece);
    this.emulator.terminal.scrollToBottom();
  }

  /** Takes the person's keys, or gives them back. Only with them, the pane is made to fit. */
  take(isTaken: boolean): void {
    if (isTaken === this.isTaken) return;
    this.isTaken = isTaken;
    clearTimeout(this.resizing);
    if (!isTaken && this.isResized) this.isResized = !this.link.say({ restore: true });
    this.fit();
    this.emulator.take(isTaken);
  }

  /** Has letters be of a size from now on, or fit. */
  write(letters: number | null): void {
    this.emulator.write(letters);
    this.fit();
  }

  /** Follows the agent as it is now: another life of it at once, and else if there may be a terminal now. */
  follow(agent: Agent): void {
    const before = this.agent;
    this.agent = agent;
    const isMoved = agent.pane !== before.pane || agent.pid !== before.pid;
    if (agent.run !== before.run) this.link.change();
    else if (isMoved || agent.phase !== before.phase) this.link.nudge();
  }

  end(): void {
    clearTimeout(this.resizing);
    document.removeEventListener("visibilitychange", this.look);
    removeEventListener("online", this.nudge);
    this.watcher.disconnect();
    this.link.stop();
    this.emulator.dispose();
  }

  /** Sees to the connection when the page is seen again. */
  private readonly look = (): void => {
    if (document.visibilityState === "visible") this.nudge();
  };

  private readonly nudge = (): void => this.link.nudge();

  private learn(size: Size): void {
    const { isNew } = this;
    this.size = size;
    this.isNew = false;
    if (isNew) this.isResized = false;
    if (this.isTaken) this.emulator.become(size);
    // Whoever else has resized it since has the last word.
    if (isNew || !this.isTaken) this.fit();
  }

  private fit(): void {
    const box = insideOf(this.box);
    if (box.width <= 0 || box.height <= 0 || this.size === null) return;
    if (!this.isTaken) {
      this.emulator.showAll(this.size, box);
      return;
    }
    this.emulator.become(this.size);
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => this.fill(), STEADY_MS);
  }

  /** Has the pane be as large as there is room. */
  private fill(): void {
    const box = insideOf(this.box);
    if (box.width <= 0 || box.height <= 0) return;
    const size = this.emulator.fill(box);
    if (isSame(size, this.size)) return;
    if (this.link.say({ resize: [size[0], size[1]] })) this.isResized = true;
  }
}

/** Returns the room inside of an element, without its padding. */
function insideOf(element: HTMLElement): Box {
  const style = getComputedStyle(element);
  const across = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight);
  const down = Number.parseFloat(style.paddingTop) + Number.parseFloat(style.paddingBottom);
  const { width, height } = element.getBoundingClientRect();
  return { width: width - across, height: height - down };
}

function worldOf(agentNow: () => Agent) {
  return {
    none: () => noneOf(agentNow()),
    open(): Wire {
      const socket = new WebSocket(terminalAddress(agentNow().id));
      socket.binaryType = "arraybuffer";
      return socket as unknown as Wire;
    },
    later(ms: number, then: () => void) {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    // If it was the login that was refused, this is answered with 401.
    refused: () => void whoAmI().catch(() => {}),
    random: Math.random,
    now: Date.now,
  };
}

/** Says why an agent has no terminal, if that is known. */
function noneOf(agent: Agent): string | null {
  if (agent.pane !== null && agent.phase !== "offline") return null;
  return `${agent.name} is ${describePhase(agent.phase).label.toLowerCase()} and has no terminal`;
}
