/** One agent's terminal for as long as it is on screen: what is drawn, how large, and who has the keys. */

import { terminalAddress, whoAmI } from "../../../api/routes";
import { describePhase } from "../../../shared/describe";
import type { Agent } from "../../../wire";
import { Emulator } from "./emulator";
import { type Box, isSame, pieces, type Size } from "./fit";
import { Link, type LinkState, type Wire } from "./link";

/** The longest that is said in one go, in characters. The daemon takes 64 KiB, of which one may be four bytes. */
const SAID_MAX = 8 << 10;

/** How long a program is given to draw itself in another size before it is looked at anew. */
const REDRAW_MS = 300;

type Wants = { onState: (state: LinkState) => void; onLeave: () => void };

export class Session {
  readonly emulator: Emulator;
  private readonly link: Link;
  private readonly box: HTMLElement;
  private readonly watcher: ResizeObserver;
  private agent: Agent;
  private isTaken = false;
  /** How large the pane is, or is to be. */
  private size: Size | null = null;
  /** How large it was before a person took the keys, to which it goes back. */
  private before: Size | null = null;
  private redraw: ReturnType<typeof setTimeout> | undefined;

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
      onOverrun: () => this.link.anew(),
    });
    this.link = new Link(
      {
        state: wants.onState,
        size: (size) => this.learn(size),
        bytes: (bytes, isFirst) => this.emulator.draw(bytes, isFirst),
      },
      worldOf(() => this.agent),
    );
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(box);
    document.addEventListener("visibilitychange", this.look);
    addEventListener("pagehide", this.giveBack);
  }

  /** Types, if a person has taken the keys. */
  type(text: string): void {
    if (!this.isTaken) return;
    for (const piece of pieces(text, SAID_MAX)) this.link.say({ input: piece });
    this.emulator.terminal.scrollToBottom();
  }

  /** Takes the person's keys, or gives them back. Only with them, the pane is made to fit. */
  take(isTaken: boolean): void {
    if (isTaken === this.isTaken) return;
    if (isTaken) {
      this.before = this.size;
      this.isTaken = true;
      this.fit();
    } else {
      this.giveBack();
    }
    this.emulator.take(isTaken);
  }

  /** Follows the agent as it is now: another life of it at once, and else if there may be a terminal now. */
  follow(agent: Agent): void {
    const before = this.agent;
    this.agent = agent;
    const isMoved = agent.pane !== before.pane || agent.pid !== before.pid;
    if (agent.run !== before.run) this.link.anew();
    else if (isMoved || agent.phase !== before.phase) this.link.nudge();
  }

  end(): void {
    this.giveBack();
    clearTimeout(this.redraw);
    document.removeEventListener("visibilitychange", this.look);
    removeEventListener("pagehide", this.giveBack);
    this.watcher.disconnect();
    this.link.stop();
    this.emulator.dispose();
  }

  /** Has the pane be as large as it was before the keys were taken. */
  private readonly giveBack = (): void => {
    if (!this.isTaken) return;
    this.isTaken = false;
    const { before } = this;
    this.before = null;
    if (before !== null && !isSame(before, this.size)) this.resize(before);
    this.fit();
  };

  /** Begins anew when it is seen again: the pane may have another size by now, and nobody tells of that. */
  private readonly look = (): void => {
    if (document.visibilityState === "visible" && !this.isTaken) this.link.anew();
  };

  private learn(size: Size): void {
    this.size = size;
    if (this.isTaken) this.emulator.become(size);
    else this.fit();
  }

  private fit(): void {
    const box = insideOf(this.box);
    if (box.width <= 0 || box.height <= 0) return;
    if (!this.isTaken) {
      if (this.size !== null) this.emulator.showAll(this.size, box);
      return;
    }
    const size = this.emulator.fill(box);
    this.emulator.become(size);
    if (!isSame(size, this.size)) this.resize(size);
  }

  private resize(size: Size): void {
    this.size = size;
    clearTimeout(this.redraw);
    this.link.say({ resize: size });
    this.redraw = setTimeout(() => this.link.anew(), REDRAW_MS);
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
  };
}

/** Says why an agent has no terminal, if that is known. */
function noneOf(agent: Agent): string | null {
  if (agent.pane !== null && agent.phase !== "offline") return null;
  return `${agent.name} is ${describePhase(agent.phase).label.toLowerCase()} and has no terminal`;
}
