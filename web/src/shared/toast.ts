/** Short notes in the corner: what was done, or what went wrong. */

import { inWords } from "../api/request";
import { cell } from "./cell";

export type Toast = {
  id: number;
  title: string;
  detail?: string;
  tone: "plain" | "failed";
  /** Something to do about it. */
  action?: { label: string; run: () => void };
};

const SHOWN_MS = 5_000;
const SHOWN_FAILED_MS = 10_000;
const SHOWN_MAX = 4;

const toasts = cell<ReadonlyArray<Toast>>([]);
const timers = new Map<number, ReturnType<typeof setTimeout>>();
let nextId = 1;
let isHeld = false;

/** Shows a note for a while. */
export function toast(title: string, more: Partial<Omit<Toast, "id" | "title">> = {}): void {
  const shown: Toast = { tone: "plain", ...more, id: nextId, title };
  nextId += 1;
  toasts.set([...toasts.get(), shown].slice(-SHOWN_MAX));
  leaveLater(shown);
}

/** Shows that something did not work, and why. `what` says what was tried. */
export function toastError(error: unknown, what?: string): void {
  const { title, detail } = inWords(error);
  toast(what ?? title, { detail, tone: "failed" });
}

export function dismiss(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
  const left = toasts.get().filter((toast) => toast.id !== id);
  if (left.length < toasts.get().length) toasts.set(left);
  // One that is gone has nobody's pointer or focus on it.
  if (left.length === 0) isHeld = false;
}

/** Has the notes stay for as long as somebody is at them; after that, each is shown as long as a new one. */
export function holdToasts(wanted: boolean): void {
  isHeld = wanted;
  for (const timer of timers.values()) clearTimeout(timer);
  timers.clear();
  if (!wanted) for (const shown of toasts.get()) leaveLater(shown);
}

function leaveLater({ id, tone }: Toast): void {
  if (isHeld) return;
  const ms = tone === "failed" ? SHOWN_FAILED_MS : SHOWN_MS;
  timers.set(
    id,
    setTimeout(() => dismiss(id), ms),
  );
}

export const getToasts = toasts.get;
export const useToasts = toasts.use;
