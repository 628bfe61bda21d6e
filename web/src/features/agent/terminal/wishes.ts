/** How a person wants terminals to be, which this browser keeps: the size of letters, and whether they are read aloud. */

import { useSyncExternalStore } from "react";
import { readStored, writeStored } from "../../../shared/theme";
import { LETTERS } from "./fit";

const SIZE = "cmux.terminal.letters";
const READ = "cmux.terminal.read";

const listeners = new Set<() => void>();

function keep(key: string, value: string | null): void {
  writeStored(key, value);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns how large letters are to be, or nothing if they are to fit. */
function getLetters(): number | null {
  const size = Number(readStored(SIZE) ?? "");
  return size >= LETTERS.min && size <= LETTERS.max ? size : null;
}

export function setLetters(size: number | null): void {
  const within = size === null ? null : Math.max(LETTERS.min, Math.min(LETTERS.max, size));
  keep(SIZE, within === null ? null : String(within));
}

export function useLetters(): number | null {
  return useSyncExternalStore(subscribe, getLetters);
}

function getRead(): boolean {
  return readStored(READ) === "yes";
}

export function setRead(isRead: boolean): void {
  keep(READ, isRead ? "yes" : null);
}

/** Returns whether what is on terminals is written for screen readers, too. */
export function useRead(): boolean {
  return useSyncExternalStore(subscribe, getRead);
}
