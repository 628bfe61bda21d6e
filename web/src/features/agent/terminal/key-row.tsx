/** Keys that a phone's keyboard does not have. */

const KEYS: ReadonlyArray<{ label: string; name: string; text: string }> = [
  { label: "Esc", name: "Escape", text: "\x1b" },
  { label: "Tab", name: "Tab", text: "\t" },
  { label: "⇧Tab", name: "Shift and Tab", text: "\x1b[Z" },
  { label: "↑", name: "Up", text: "\x1b[A" },
  { label: "↓", name: "Down", text: "\x1b[B" },
  { label: "←", name: "Left", text: "\x1b[D" },
  { label: "→", name: "Right", text: "\x1b[C" },
  { label: "^C", name: "Ctrl and C", text: "\x03" },
  { label: "⏎", name: "Enter", text: "\r" },
];

/** A row of keys, on screens that are touched. */
export function KeyRow({ onKey }: { onKey: (text: string) => void }) {
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      data-takes-keys
      className="hidden shrink-0 gap-1 overflow-x-auto border-t border-edge bg-panel p-1 pointer-coarse:flex"
    >
      {KEYS.map(({ label, name, text }) => (
        <button
          key={label}
          type="button"
          aria-label={name}
          // The terminal keeps the focus, and with it the phone's own keyboard.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onKey(text)}
          className="h-9 min-w-9 shrink-0 rounded-md border border-edge-strong px-2 font-mono active:bg-selected"
        >
          {label}
        </button>
      ))}
    </div>
  );
}
