/** Says numbers and times in as few characters as are needed. */

import type { Time, Usage } from "../wire";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The age of what has just been. */
const NOW = "now";

/** Returns a length of time: `4s`, `3m`, `2h 5m`, `6d`. */
export function age(ms: number): string {
  if (ms < SECOND) return NOW;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < DAY) return two(Math.floor(ms / HOUR), "h", Math.floor((ms % HOUR) / MINUTE), "m");
  if (ms < 10 * DAY) return two(Math.floor(ms / DAY), "d", Math.floor((ms % DAY) / HOUR), "h");
  return `${Math.floor(ms / DAY)}d`;
}

/** Returns for how long something has been so, of which that is the age: `just now`, `for 3m`. */
export function lasting(said: string): string {
  return said === NOW ? "just now" : `for ${said}`;
}

/** Returns when something was, of which that is the age: `just now`, `3m ago`. */
export function ago(said: string): string {
  return said === NOW ? "just now" : `${said} ago`;
}

/** Returns when something will be, of which that is how far it is away: `any moment`, `in 3m`. */
export function ahead(said: string): string {
  return said === NOW ? "any moment" : `in ${said}`;
}

function two(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${unit}` : `${large}${unit} ${small}${smallUnit}`;
}

/** Returns how long something took: `12 ms`, `1.4 s`, `2m 10s`. */
export function duration(ms: number): string {
  // What would be rounded up to the next unit is said in that.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return two(Math.floor(seconds / 60), "m", seconds % 60, "s");
  return age(seconds * SECOND);
}

const BYTES = ["B", "KB", "MB", "GB", "TB"];

/** Returns a size: `512 B`, `1.5 KB`, `20 GB`. */
export function bytes(count: number): string {
  let at = 0;
  let left = count;
  while (left >= 1024 && at < BYTES.length - 1) {
    left /= 1024;
    at += 1;
  }
  const digits = at === 0 || left >= 100 ? 0 : 1;
  return `${left.toFixed(digits).replace(/\.0$/, "")} ${BYTES[at]}`;
}

/** Returns a count in few characters: `950`, `1.2k`, `34k`, `5.6M`. */
export function count(value: number): string {
  if (value < 1_000) return String(value);
  // What would be rounded up to a thousand thousands is said as a million.
  if (value < 999_500) return `${few(value / 1_000)}k`;
  if (value < 999_500_000) return `${few(value / 1_000_000)}M`;
  return `${few(value / 1_000_000_000)}G`;
}

function few(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

/** Returns an amount of money: `<1¢`, `$0.42`, `$12.30`, `$1,204`. */
export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return "<1¢";
  const digits = usd >= 1_000 ? 0 : 2;
  const said = usd.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `$${said}`;
}

/** Returns what was used, in a few characters: the tokens, and the money if it is known. */
export function used(usage: Usage): string {
  if (usage.tokens === 0) return "–";
  const tokens = `${count(usage.tokens)} ${usage.tokens === 1 ? "token" : "tokens"}`;
  return usage.cost_usd ? `${tokens} · ${money(usage.cost_usd)}` : tokens;
}

/** Returns a time of day in the person's own zone: `14:03`, or `14:03:09`. */
export function clock(at: Time | number, seconds = false): string {
  const options: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hour12: false };
  if (seconds) options.second = "2-digit";
  return new Date(at).toLocaleTimeString("en-GB", options);
}

/** Returns a moment in full, in the person's own zone. */
export function moment(at: Time | number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** Returns a number with its noun: `1 agent`, `3 agents`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${value.toLocaleString("en-US")} ${value === 1 ? noun : plural}`;
}
