/** A value that whoever looks at it is told of when it is another. */

import { useSyncExternalStore } from "react";

export type Cell<T> = {
  get: () => T;
  set: (next: T) => void;
  /** Returns the value, and again when it is another. */
  use: () => T;
};

export function cell<T>(first: T): Cell<T> {
  let value = first;
  const listeners = new Set<() => void>();
  const get = () => value;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const set = (next: T) => {
    value = next;
    for (const listener of listeners) listener();
  };
  return { get, set, use: () => useSyncExternalStore(subscribe, get) };
}
