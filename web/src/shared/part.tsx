/**
 * Parts of the dashboard that are loaded when they are needed. One that could not be loaded says so in its place,
 * can be asked for again, and comes by itself when the daemon is back.
 */

import { type ComponentType, type ReactNode, useEffect, useSyncExternalStore } from "react";
import { ProblemError } from "../api/request";
import { getLive } from "../feed/live";
import { ErrorNote } from "./empty";

type Found<Props> =
  | { is: "unasked" }
  | { is: "coming" }
  | { is: "here"; Shown: ComponentType<Props> }
  | { is: "failed" };

type Load<Props> = () => Promise<ComponentType<Props>>;

/** All that there are, so that they can be loaded before the daemon goes away. */
const parts = new Set<Part<never>>();

export class Part<Props> {
  private readonly fetch: Load<Props>;
  private readonly listeners = new Set<() => void>();
  private found: Found<Props> = { is: "unasked" };

  constructor(fetch: Load<Props>) {
    this.fetch = fetch;
    parts.add(this as Part<never>);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): Found<Props> => this.found;

  /** Loads it, unless it is here or on its way. Never fails: what came of it is told. */
  readonly load = async (): Promise<void> => {
    if (this.found.is === "here" || this.found.is === "coming") return;
    this.tell({ is: "coming" });
    try {
      this.tell({ is: "here", Shown: await this.fetch() });
    } catch {
      this.tell({ is: "failed" });
    }
  };

  private tell(found: Found<Props>): void {
    this.found = found;
    for (const listener of this.listeners) listener();
  }
}

/** Returns the part that a module is there for. */
export function part<Props>(load: () => Promise<{ default: ComponentType<Props> }>): Part<Props> {
  return new Part(async () => (await load()).default);
}

/** Loads every part that is known by now. */
export async function loadParts(): Promise<void> {
  await Promise.all([...parts].map((one) => one.load()));
}

/** Loads again what could not be loaded. */
export function loadFailed(): void {
  for (const one of parts) if (one.get().is === "failed") void one.load();
}

/** Returns a part once it is here, for who has something to show without it. */
export function usePart<Props>(wanted: Part<Props>): ComponentType<Props> | null {
  const found = useFound(wanted);
  return found.is === "here" ? found.Shown : null;
}

/** Returns what came of a part, which is asked for once for each component that shows it. */
function useFound<Props>(wanted: Part<Props>): Found<Props> {
  useEffect(() => void wanted.load(), [wanted]);
  return useSyncExternalStore(wanted.subscribe, wanted.get);
}

type LoadedProps<Props> = {
  part: Part<Props>;
  /** What it is, as the beginning of a sentence. */
  name: string;
  /** What is shown while it comes. */
  meanwhile: ReactNode;
  children: (Shown: ComponentType<Props>) => ReactNode;
};

/** Shows a part as soon as it is here. */
export function Loaded<Props>({ part, name, meanwhile, children }: LoadedProps<Props>) {
  const found = useFound(part);
  switch (found.is) {
    case "unasked":
    case "coming":
      return meanwhile;
    case "here":
      return children(found.Shown);
    case "failed":
      return <PartNote part={part} name={name} />;
  }
}

/** Says that a part could not be loaded, if that is so. It is for whoever shows the part to ask for it. */
export function PartNote<Props>({ part, name }: Pick<LoadedProps<Props>, "part" | "name">) {
  const found = useSyncExternalStore(part.subscribe, part.get);
  if (found.is !== "failed") return null;
  return (
    <ErrorNote
      error={missing()}
      what={`${name} could not be loaded`}
      onRetry={() => void loadOrReload(part)}
    />
  );
}

/** Loads a part as a person has asked for it. An updated cmux has it under another name, which a new page knows. */
async function loadOrReload<Props>(wanted: Part<Props>): Promise<void> {
  await wanted.load();
  if (wanted.get().is === "failed" && getLive().is === "live") location.reload();
}

/** Says why a part may be missing. */
function missing(): ProblemError {
  const detail =
    getLive().is === "live"
      ? "cmux may have been updated since this page was loaded: load the page again."
      : "It is loaded as soon as cmux answers again.";
  return new ProblemError({ type: "about:blank", title: "Not loaded", status: 0, detail });
}
