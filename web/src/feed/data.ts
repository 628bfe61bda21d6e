/** Reads what an event says, which the wire leaves open, without trusting that it is there. */

import type { Intent, MessageKind, Phase, Usage } from "../wire";

export type Data = Readonly<Record<string, unknown>>;

/** Returns what an event says as fields, which are none if it says nothing. */
export function fields(data: unknown): Data {
  return typeof data === "object" && data !== null ? (data as Data) : {};
}

export function text(data: Data, name: string): string | null {
  const value = data[name];
  return typeof value === "string" ? value : null;
}

export function number(data: Data, name: string): number | null {
  const value = data[name];
  return typeof value === "number" ? value : null;
}

const PHASES: Record<Phase, true> = {
  offline: true,
  starting: true,
  idle: true,
  busy: true,
  asking: true,
  limited: true,
  down: true,
  failed: true,
};
const INTENTS: Record<Intent, true> = { run: true, pause: true, stop: true };
const KINDS: Record<MessageKind, true> = {
  task: true,
  status: true,
  response: true,
  question: true,
  error: true,
  user: true,
  system: true,
};

export const isPhase = (value: string | null): value is Phase =>
  value !== null && Object.hasOwn(PHASES, value);
export const isIntent = (value: string | null): value is Intent =>
  value !== null && Object.hasOwn(INTENTS, value);
export const isMessageKind = (value: string | null): value is MessageKind =>
  value !== null && Object.hasOwn(KINDS, value);

/** Returns what was used, if `value` tells it. */
export function usage(value: unknown): Usage | null {
  return number(fields(value), "tokens") === null ? null : (value as Usage);
}
