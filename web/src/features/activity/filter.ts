/** Which events of the log are wanted. Pure. */

import type { Event } from "../../wire";
import type { ActivitySearch } from "./search";

export type Filter = Pick<ActivitySearch, "project" | "agent" | "kind" | "q">;

export function isFiltering({ project, agent, kind, q }: Filter): boolean {
  return [project, agent, kind, q].some((part) => part !== undefined);
}

/** Returns whether an event is one of those wanted, as the daemon would find it. */
export function fits(event: Event, filter: Filter, nameOf: (agent: string) => string): boolean {
  const { project, agent, kind, q } = filter;
  if (project !== undefined && event.project !== project) return false;
  if (agent !== undefined && event.agent !== agent) return false;
  if (kind !== undefined && !isOfKind(event.kind, kind)) return false;
  return q === undefined || mentions(event, q, nameOf);
}

function isOfKind(kind: string, wanted: string): boolean {
  return wanted.endsWith(".") ? kind.startsWith(wanted) : kind === wanted;
}

function mentions(event: Event, text: string, nameOf: (agent: string) => string): boolean {
  const name = event.agent === null ? "" : nameOf(event.agent);
  const data = JSON.stringify(event.data);
  if ([event.kind, event.actor, name, data].some((part) => contains(part, text))) return true;
  // In data, it is written as JSON writes it.
  return contains(data, JSON.stringify(text).slice(1, -1));
}

function contains(part: string, text: string): boolean {
  return folded(part).includes(folded(text));
}

/** Returns a text in which letters fit whether they are small or capital: those of ASCII, as in the daemon. */
function folded(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The families of events, as the log names them and as people do. */
export const FAMILIES: ReadonlyArray<{ value: string; label: string }> = [
  { value: "agent.", label: "Agents" },
  { value: "message.", label: "Mail" },
  { value: "turn.", label: "Turns" },
  { value: "tool.", label: "Tools" },
  { value: "hook.", label: "Hooks" },
  { value: "project.", label: "Projects" },
  { value: "daemon.", label: "cmux itself" },
  { value: "store.", label: "Store" },
  { value: "snapshot.", label: "Snapshots" },
  { value: "log.", label: "Archives" },
  { value: "payload.", label: "Pruned payloads" },
  { value: "tmux.", label: "tmux" },
  { value: "clock.", label: "Clock" },
  { value: "session.", label: "Sessions" },
  { value: "link.", label: "Links" },
  { value: "token.", label: "Tokens" },
  { value: "password.", label: "Password" },
  { value: "webhook.", label: "Webhooks" },
  { value: "door.", label: "Refusals" },
];
