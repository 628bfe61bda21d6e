/** Short notes in the corner: what was done, or what went wrong. */

import { useSyncExternalStore } from "react";
import { inWords } from "../api/request";

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

let toasts: ReadonlyArray<Toast> = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(next: ReadonlyArray<Toast>): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a note for a while. */
export function toast(title: string, more: Partial<Omit<Toast, "id" | "title">> = {}): void {
  const shown: Toast = { tone: "plain", ...more, id: nextId, title };
  nextId += 1;
  set([...toasts, shown].slice(-SHOWN_MAX));
  const ms = shown.tone === "failed" ? SHOWN_FAILED_MS : SHOWN_MS;
  setTimeout(() => dismiss(shown.id), ms);
}

/** Shows that something did not work, and why. `what` says what was tried. */
export function toastError(error: unknown, what?: string): void {
  const { title, detail } = inWords(error);
  toast(what ?? title, { detail, tone: "failed" });
}

export function dismiss(id: number): void {
  if (toasts.some((toast) => toast.id === id)) set(toasts.filter((toast) => toast.id !== id));
}

export function useToasts(): ReadonlyArray<Toast> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
}
