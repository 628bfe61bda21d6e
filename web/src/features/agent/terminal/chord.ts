/** The keys by which the keyboard is taken and given back. No program has them: they are never sent. */

type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** As shortcuts name it. */
export const CHORD = "mod+]";

/** Returns whether these keys are meant. Where the bracket is not on a key of its own, the key in its place does. */
export function isChord({ key, code, ctrlKey, metaKey, altKey, shiftKey }: Pressed): boolean {
  // With Alt and Ctrl, some keyboards write what stands third on a key.
  if (altKey || ctrlKey === metaKey) return false;
  return key === "]" || (code === "BracketRight" && !shiftKey);
}

/** Returns whether a key was pressed to type with it, as far as a page can know. */
export function isTyping({ key, ctrlKey, metaKey, altKey }: Omit<Pressed, "code">): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  return [...key].length === 1 || ["Enter", "Backspace", "Delete", "Escape"].includes(key);
}
