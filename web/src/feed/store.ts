/** Holds what is known, and tells each listener only of what it looks at. */

import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import type { Agent, Event, Project } from "../wire";
import { callAll } from "./listeners";
import { type FleetState, unreadCount } from "./state";

let fleet: FleetState | null = null;
const listeners = new Set<() => void>();

/** What happened to the stream of events, for those who show it itself. */
export type News =
  | { what: "events"; events: ReadonlyArray<Event> }
  /** Everything begins anew: another log, a restored store, or events that were archived before they came here. */
  | { what: "reset" };

const readers = new Set<(news: News) => void>();

/** Returns what is known, or nothing before the daemon has told anything. */
export function getFleet(): FleetState | null {
  return fleet;
}

export function setFleet(next: FleetState | null): void {
  if (next === fleet) return;
  fleet = next;
  callAll(listeners);
}

/** Has `listener` called after every change. Returns how to end that. */
export function onFleet(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Tells those who show the stream itself. */
export function tell(news: News): void {
  callAll(readers, news);
}

/** Has `reader` called with the events as they come. Returns how to end that. */
export function onNews(reader: (news: News) => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}

/** Has `reader` called with the events as they come, for as long as a component is there. */
export function useNews(reader: (news: News) => void): void {
  const latest = useRef(reader);
  latest.current = reader;
  useEffect(() => onNews((news) => latest.current(news)), []);
}

type Same<T> = (one: T, other: T) => boolean;

/**
 * Returns what `select` finds, and again when that is another. `select` must be pure; if it makes a new list
 * each time, `same` tells whether it is really another: `sameItems` for lists.
 */
export function useFleet<T>(select: (state: FleetState) => T, same: Same<T> = Object.is): T {
  const found = useFleetMaybe(select, same);
  if (found === NOTHING) throw new Error("the fleet is shown before it is known");
  return found;
}

const NOTHING = Symbol("nothing");

function useFleetMaybe<T>(select: (state: FleetState) => T, same: Same<T>): T | typeof NOTHING {
  const last = useRef<T | typeof NOTHING>(NOTHING);
  const look = useCallback((): T | typeof NOTHING => {
    if (fleet === null) return last.current;
    const next = select(fleet);
    const before = last.current;
    if (before !== NOTHING && same(before, next)) return before;
    last.current = next;
    return next;
  }, [select, same]);
  return useSyncExternalStore(onFleet, look);
}

/** Returns whether anything is known yet. */
export function useIsKnown(): boolean {
  return useSyncExternalStore(onFleet, () => fleet !== null);
}

/** Returns whether two lists hold the same things in the same order. */
export function sameItems<T>(one: ReadonlyArray<T>, other: ReadonlyArray<T>): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Returns an agent by its id, and again when it changes; nothing if there is none. */
export function useAgent(id: string | null | undefined): Agent | undefined {
  const select = useCallback((state: FleetState) => (id ? state.agents.get(id) : undefined), [id]);
  return useFleet(select);
}

const allAgents = (state: FleetState): Agent[] => [...state.agents.values()];
const allProjects = (state: FleetState): Project[] =>
  [...state.projects.values()].sort((one, other) => one.name.localeCompare(other.name));

/** Returns all agents, or those of a project. */
export function useAgents(project?: string | undefined): Agent[] {
  const select = useCallback(
    (state: FleetState) =>
      allAgents(state).filter((agent) => project === undefined || agent.project === project),
    [project],
  );
  return useFleet(select, sameItems);
}

/** Returns all projects by name. */
export function useProjects(): Project[] {
  return useFleet(allProjects, sameItems);
}

/** Returns how many messages the person has not read. */
export function useUnreadCount(): number {
  return useFleet(unreadCount);
}
