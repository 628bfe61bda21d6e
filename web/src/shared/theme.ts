/** Light or dark: what the person chose, or what their system says. */

import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";

/** The same key is read by `assets/theme.js`, before anything is drawn. */
const KEY = "cmux.theme";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** Returns what was chosen. */
export function getTheme(): Theme {
  const chosen = readStored(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** Returns what is shown. */
export function getShade(): "light" | "dark" {
  const theme = getTheme();
  if (theme !== "system") return theme;
  return system.matches ? "dark" : "light";
}

export function setTheme(theme: Theme): void {
  writeStored(KEY, theme === "system" ? null : theme);
  apply();
}

function apply(): void {
  document.documentElement.dataset["theme"] = getShade();
  for (const listener of listeners) listener();
}

system.addEventListener("change", apply);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, getTheme);
}

/** Returns what is shown, for what is drawn by hand: terminals and plots. */
export function useShade(): "light" | "dark" {
  return useSyncExternalStore(subscribe, getShade);
}

/** Returns what was kept in this browser, if it keeps anything. */
export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps something in this browser, if it keeps anything. */
export function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // It lasts as long as the page, then.
  }
}
