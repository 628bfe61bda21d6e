/** Keys that are pressed by a click: those that a phone's keyboard lacks, and those that answer a dialog. */

import { classes } from "../../../shared/classes";

type Key = { label: string; name: string; text: string };

const ANSWERS: ReadonlyArray<Key> = [
  { label: "⏎", name: "Enter", text: "\r" },
  { label: "Esc", name: "Esc", text: "\x1b" },
  { label: "↑", name: "Up", text: "\x1b[A" },
  { label: "↓", name: "Down", text: "\x1b[B" },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => ({
    label: String(digit),
    name: String(digit),
    text: String(digit),
  })),
];

const OTHERS: ReadonlyArray<Key> = [
  { label: "←", name: "Left", text: "\x1b[D" },
  { label: "→", name: "Right", text: "\x1b[C" },
  { label: "Tab", name: "Tab", text: "\t" },
  { label: "⇧Tab", name: "Shift and Tab", text: "\x1b[Z" },
  { label: "^C", name: "Ctrl and C", text: "\x03" },
];

type Props = {
  /** Whose keys they are. */
  name: string;
  /** Whether it asks something, and is to be answered by them. */
  isAsking: boolean;
  onKey: (text: string) => void;
};

/** A row of keys. Each is sent as it is pressed, whether the keyboard is taken or not. */
export function KeyRow({ name, isAsking, onKey }: Props) {
  return (
    <div
      className={classes(
        "flex shrink-0 items-center gap-2 border-t bg-panel p-1",
        isAsking ? "border-asking-edge" : "border-edge",
      )}
    >
      {isAsking && (
        <span className="hidden shrink-0 pl-2 text-quiet rail:inline">Press for {name}:</span>
      )}
      <div
        role="toolbar"
        aria-label={`Keys for ${name}`}
        // What is typed here was meant for the agent; the keys that open the palette were not.
        data-takes-typing
        className="flex min-w-0 gap-1 overflow-x-auto p-0.5"
      >
        {[...ANSWERS, ...OTHERS].map(({ label, name, text }) => (
          <button
            key={label}
            type="button"
            aria-label={name}
            // The terminal keeps the focus, and with it the phone's own keyboard.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => onKey(text)}
            className="h-8 min-w-8 shrink-0 rounded-md border border-edge-strong px-2 font-mono active:bg-selected pointer-coarse:h-9 pointer-coarse:min-w-9"
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  );
}
