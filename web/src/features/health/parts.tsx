/** The parts of cmux: whether each does what it is there for. */

import { CircleAlert, CircleCheck } from "lucide-react";
import { classes } from "../../shared/classes";
import { describeCondition, TONE_TEXT } from "../../shared/describe";
import { ErrorNote, Skeleton } from "../../shared/empty";
import { Section } from "../../shared/page";
import type { Condition, Health, Part } from "../../wire";
import { useHealth } from "./use-vitals";

const PARTS = ["api", "frontend", "store", "tmux", "router", "kernel"] as const;

type PartName = (typeof PARTS)[number];

/** Says what a part is called, and what it is there for. */
function describePart(name: PartName): { label: string; about: string } {
  switch (name) {
    case "api":
      return { label: "API", about: "answers this page, the command line and scripts" };
    case "frontend":
      return { label: "Pages", about: "are there to be shown" };
    case "store":
      return { label: "Store", about: "writes down everything that happens" };
    case "tmux":
      return { label: "tmux", about: "has the agents' terminals" };
    case "router":
      return { label: "Router", about: "delivers the messages" };
    case "kernel":
      return { label: "Kernel", about: "decides what is done next" };
  }
}

function partOf(health: Health, name: PartName): Part {
  return name === "api" ? { status: health.api } : health[name];
}

export function Parts() {
  const { health, error } = useHealth();
  return (
    <Section title="Parts" detail={health && <Overall status={health.status} />}>
      {error !== null && error !== undefined && (
        <ErrorNote error={error} what="How cmux is, is not known" />
      )}
      <ul>
        {PARTS.map((name) => (
          <PartRow key={name} name={name} part={health && partOf(health, name)} />
        ))}
      </ul>
    </Section>
  );
}

function Overall({ status }: { status: Condition }) {
  switch (status) {
    case "healthy":
      return "Everything does what it is there for.";
    case "degraded":
      return "Something does not work. Below is what, and why.";
  }
}

function PartRow({ name, part }: { name: PartName; part: Part | null }) {
  const { label, about } = describePart(name);
  return (
    <li className="grid min-h-10 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 border-b border-edge px-3 py-1.5 last:border-b-0">
      <p className="min-w-0">
        <span className="font-medium">{label}</span> <span className="text-quiet">{about}</span>
      </p>
      {part === null ? <Skeleton className="h-4 w-20" /> : <State status={part.status} />}
      {part?.why && <p className="col-span-2 break-words text-failed">{part.why}</p>}
    </li>
  );
}

function State({ status }: { status: Condition }) {
  const { label, tone } = describeCondition(status);
  const Icon = status === "healthy" ? CircleCheck : CircleAlert;
  return (
    <span className={classes("inline-flex items-center gap-1.5 font-medium", TONE_TEXT[tone])}>
      <Icon aria-hidden size={15} /> {label}
    </span>
  );
}
