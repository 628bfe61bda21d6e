/** How long ago something was, which goes on by itself. */

import { useSyncExternalStore } from "react";
import type { Time } from "../wire";
import { classes } from "./classes";
import { age, ago, ahead, lasting, moment } from "./format";

const TICK_MS = 1_000;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === null) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** Returns how long it has been since `at`, in words, and again when the words are others. */
export function useAge(at: Time | number): string {
  const since = typeof at === "number" ? at : Date.parse(at);
  return useSyncExternalStore(subscribe, () => age(Math.max(0, now - since)));
}

type Props = { at: Time; className?: string };

/** How long it has been: `3s`. The moment itself is shown when it is pointed at. */
export function Age(props: Props) {
  return <Since {...props} say={(said) => said} />;
}

/** When something was: `just now`, `3s ago`. */
export function Ago(props: Props) {
  return <Since {...props} say={ago} />;
}

/** For how long something has been so: `just now`, `for 3s`. */
export function Lasting(props: Props) {
  return <Since {...props} say={lasting} />;
}

/** When something will be: `in 3s`, or `any moment` once it should have been. */
export function Ahead({ at, className }: Props) {
  const due = Date.parse(at);
  const said = useSyncExternalStore(subscribe, () => age(Math.max(0, due - now)));
  return (
    <time dateTime={at} title={moment(at)} className={classes("whitespace-nowrap", className)}>
      {ahead(said)}
    </time>
  );
}

function Since({ at, className, say }: Props & { say: (age: string) => string }) {
  const said = useAge(at);
  return (
    <time dateTime={at} title={moment(at)} className={classes("whitespace-nowrap", className)}>
      {say(said)}
    </time>
  );
}
