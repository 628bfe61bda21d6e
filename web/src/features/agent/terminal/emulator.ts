/** A terminal in the page: xterm.js, which only listens until it is told to take keys. */

import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./terminal.css";
import { isChord } from "./chord";
import { type Box, type Cell, fontFor, isSame, type Size, sizeFor } from "./fit";
import { type Flow, flowInto } from "./flow";
import { linkHandler, linkProvider } from "./links";
import { paletteOf } from "./palette";

const SCROLLBACK = 5_000;
const FONT = 13;

/** The room that the bar for scrolling takes. */
const BAR = 14;

export type Wants = {
  /** What a person types. */
  onInput: (text: string) => void;
  /** The keys were pressed that give the keyboard back. */
  onLeave: () => void;
  /** Whether it has the focus, and with it the keys, if it takes any. */
  onFocus: (hasFocus: boolean) => void;
  /** The first whole screen is drawn, whose last line that is not empty ends so far below its beginning. */
  onShown: (foot: number) => void;
  /** It is too slow for what comes, and has to be shown the whole screen. */
  onOverrun: () => void;
};

export class Emulator {
  readonly terminal: Terminal;
  readonly flow: Flow;
  private readonly host: HTMLElement;
  private size: Size = [80, 24];
  private isTaken = false;
  /** How large letters are to be, or nothing if they are to fit. */
  private letters: number | null = null;

  constructor(host: HTMLElement, shade: "light" | "dark", wants: Wants) {
    this.host = host;
    this.terminal = new Terminal({
      allowProposedApi: false,
      cursorInactiveStyle: "outline",
      disableStdin: true,
      fontFamily: getComputedStyle(host).fontFamily,
      fontSize: fontMost(),
      linkHandler: linkHandler(host),
      minimumContrastRatio: 4.5,
      scrollback: SCROLLBACK,
      theme: paletteOf(shade),
    });
    this.terminal.open(host);
    this.flow = flowInto((bytes, done) => this.terminal.write(bytes, done), wants.onOverrun);
    answerNothing(this.terminal);
    const shown = this.terminal.onWriteParsed(() => {
      if (!this.flow.isDone()) return;
      shown.dispose();
      wants.onShown(this.foot());
    });
    this.terminal.onData((text) => this.isTaken && wants.onInput(text));
    this.terminal.attachCustomKeyEventHandler((event) => this.hear(event, wants.onLeave));
    this.terminal.registerLinkProvider(linkProvider(this.terminal));
    const { textarea } = this.terminal;
    textarea?.addEventListener("focus", () => wants.onFocus(true));
    textarea?.addEventListener("blur", () => wants.onFocus(false));
    this.take(false);
  }

  /** Draws a screen that is whole: what was there before does not matter. */
  draw(bytes: Uint8Array, isWhole: boolean): void {
    if (isWhole) {
      this.flow.drop();
      // A program that was cut off may have left any mode behind.
      this.flow.take(RESET);
    }
    this.flow.take(bytes);
  }

  paint(shade: "light" | "dark"): void {
    this.terminal.options.theme = paletteOf(shade);
  }

  /** Writes what is on it for screen readers, too. */
  read(isRead: boolean): void {
    this.terminal.options.screenReaderMode = isRead;
  }

  /** Has letters be of a size from now on, or fit. */
  write(letters: number | null): void {
    this.letters = letters;
  }

  /** Returns how large letters are. */
  font(): number {
    return this.terminal.options.fontSize ?? FONT;
  }

  /** Takes the keys of the person, or leaves them to the page. */
  take(isTaken: boolean): void {
    this.isTaken = isTaken;
    this.terminal.options.disableStdin = !isTaken;
    this.terminal.options.cursorBlink = isTaken;
    const { textarea } = this.terminal;
    if (textarea === undefined) return;
    const hadFocus = document.activeElement === textarea;
    // What cannot have the focus cannot be typed into by accident.
    textarea.disabled = !isTaken;
    if (isTaken) this.terminal.focus();
    else if (hadFocus) this.host.focus({ preventScroll: true });
  }

  /** Has as many columns and rows as the agent's pane, in letters with which that fits into a box. */
  showAll(size: Size, box: Box): void {
    const room = { width: box.width - BAR, height: box.height };
    this.become(size, this.letters ?? fontFor(room, size, this.cell(), fontMost()));
  }

  /** Returns how many columns and rows fit into a box. */
  fill(box: Box): Size {
    return sizeFor({ width: box.width - BAR, height: box.height }, this.cell(), this.filling());
  }

  /** Has as many columns and rows, in letters of the size that a pane is made to fit. */
  become(size: Size, font = this.filling()): void {
    if (this.terminal.options.fontSize !== font) this.terminal.options.fontSize = font;
    if (!isSame(size, this.size) || this.terminal.cols !== size[0]) {
      this.terminal.resize(size[0], size[1]);
      this.size = size;
    }
    const { width, height } = this.cell();
    this.host.style.width = `${Math.ceil(size[0] * width * font) + BAR}px`;
    this.host.style.height = `${Math.ceil(size[1] * height * font)}px`;
  }

  dispose(): void {
    this.terminal.dispose();
  }

  /** Returns how far down the last line ends that is not empty. */
  private foot(): number {
    const { buffer, rows } = this.terminal;
    const { baseY, cursorY } = buffer.active;
    let last = rows - 1;
    const isEmpty = (row: number) =>
      buffer.active.getLine(baseY + row)?.translateToString(true) === "";
    while (last > cursorY && isEmpty(last)) last -= 1;
    return (last + 1) * this.cell().height * this.font();
  }

  private filling(): number {
    return this.letters ?? fontMost();
  }

  /** Returns how large a letter is drawn, by the font's size. */
  private cell(): Cell {
    const screen = this.terminal.element?.querySelector<HTMLElement>(".xterm-screen");
    const font = this.font();
    if (!screen || screen.clientWidth === 0) return { width: 0.6, height: 1.2 };
    const { cols, rows } = this.terminal;
    return {
      width: screen.clientWidth / cols / font,
      height: screen.clientHeight / rows / font,
    };
  }

  private hear(event: KeyboardEvent, onLeave: () => void): boolean {
    if (!this.isTaken) return false;
    if (!isChord(event)) return true;
    if (event.type !== "keydown") return false;
    // It is the page's shortcut, too, which would take the keyboard again.
    event.preventDefault();
    onLeave();
    return false;
  }
}

/** Leaves every mode and the other screen. */
const RESET = new TextEncoder().encode("\x1bc");

/** Returns how large letters are at most: larger on large screens, as the page's own are. */
function fontMost(): number {
  const root = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return Math.round((FONT * root) / 16);
}

/**
 * Has a terminal answer none of the questions that programs put to terminals: tmux has answered them, and an
 * answer from here would be typed into the agent.
 */
function answerNothing({ parser }: Terminal): void {
  const swallow = () => true;
  for (const final of ["c", "n", "t", "x"]) parser.registerCsiHandler({ final }, swallow);
  for (const final of ["c", "q"]) parser.registerCsiHandler({ prefix: ">", final }, swallow);
  for (const final of ["n", "u"]) parser.registerCsiHandler({ prefix: "?", final }, swallow);
  parser.registerCsiHandler({ prefix: "=", final: "c" }, swallow);
  parser.registerCsiHandler({ intermediates: "$", final: "p" }, swallow);
  parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, swallow);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, swallow);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, swallow);
  for (const code of [4, 10, 11, 12]) {
    parser.registerOscHandler(code, (data) => data.includes("?"));
  }
  // What is on an agent's screen must not reach the person's clipboard by itself.
  parser.registerOscHandler(52, swallow);
}
