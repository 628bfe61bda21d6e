/** Whether the person wants to be called by the browser, and whether it may. */

import { useSyncExternalStore } from "react";
import { readStored, writeStored } from "./theme";

const KEY = "cmux.notify";

const listeners = new Set<() => void>();

/** Whether the browser has notifications, and shows none: those on phones do so for a page. */
let isBroken = false;

export type NotifyState = "on" | "off" | "denied" | "unsupported";

/** Returns how it stands with notifications. */
export function getNotify(): NotifyState {
  if (!("Notification" in globalThis) || isBroken) return "unsupported";
  if (Notification.permission === "denied") return "denied";
  return readStored(KEY) === "on" && Notification.permission === "granted" ? "on" : "off";
}

export function wantsNotifications(): boolean {
  return getNotify() === "on";
}

/** Takes note that the browser could not show one, so that none is promised. */
export function noteBroken(): void {
  isBroken = true;
  for (const listener of listeners) listener();
}

/** Turns notifications on or off. The browser asks the person the first time. */
export async function setNotify(wanted: boolean): Promise<void> {
  if (wanted && "Notification" in globalThis) await Notification.requestPermission();
  writeStored(KEY, wanted ? "on" : null);
  for (const listener of listeners) listener();
}

export function useNotify(): NotifyState {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, getNotify);
}
