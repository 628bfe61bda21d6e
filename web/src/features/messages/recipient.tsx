/** The field that says to whom something is written, with those it may mean below. */

import { type KeyboardEvent, type Ref, useEffect, useId, useMemo, useRef, useState } from "react";
import { sameItems, useAgents, useFleet } from "../../feed/store";
import { classes } from "../../shared/classes";
import { INPUT } from "../../shared/field";
import { PhaseDot } from "../../shared/phase";
import { completions, meant, type Recipient, recipientsOf } from "./recipients";

const SHOWN_MAX = 50;

/** Returns all who can be written to. */
export function useRecipients(): Recipient[] {
  const agents = useAgents();
  const list = useFleet((state) => [...state.projects.values()], sameItems);
  return useMemo(() => {
    const projects = new Map(list.map((project) => [project.id, project]));
    return recipientsOf({ agents, projects });
  }, [agents, list]);
}

type Props = {
  value: string;
  onChange: (value: string) => void;
  /** Called when somebody was chosen, to go on with what is to be said. */
  onChosen: () => void;
  field: Ref<HTMLInputElement>;
};

export function RecipientField({ value, onChange, onChosen, field }: Props) {
  const all = useRecipients();
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const id = useId();
  const found = useMemo(() => completions(all, value).slice(0, SHOWN_MAX), [all, value]);
  const isShown = isOpen && found.length > 0;
  const here = Math.min(at, found.length - 1);
  const choose = (recipient: Recipient) => {
    onChange(recipient.address);
    setOpen(false);
    onChosen();
  };
  const press = (event: KeyboardEvent) => {
    const chosen = found[here];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      if (isShown) setAt((here + step + found.length) % found.length);
      else setOpen(true);
    } else if (event.key === "Enter" && isShown && chosen && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      choose(chosen);
    } else if (event.key === "Tab" && isShown && chosen && value !== "" && !event.shiftKey) {
      onChange(chosen.address);
      setOpen(false);
    } else if (event.key === "Escape" && isShown) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div className="relative flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        To
      </label>
      <input
        id={id}
        ref={field}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={isShown ? `${id}-list` : undefined}
        aria-autocomplete="list"
        aria-activedescendant={isShown ? `${id}-${here}` : undefined}
        aria-describedby={`${id}-note`}
        autoComplete="off"
        spellCheck={false}
        placeholder="name or name@project"
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
          setAt(0);
          setOpen(true);
        }}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        className={classes(INPUT, "h-8")}
      />
      <Note id={`${id}-note`} all={all} value={value} />
      {isShown && <List id={id} found={found} here={here} onChoose={choose} />}
    </div>
  );
}

/** Says who is meant, or that nobody is. It is always there, so that nothing moves. */
function Note({ id, all, value }: { id: string; all: ReadonlyArray<Recipient>; value: string }) {
  const one = meant(all, value);
  const said = () => {
    if (all.length === 0) return "There is no agent yet: cmux up in a project starts one.";
    if (value.trim() === "") return "An agent of any project.";
    if (one === undefined) return "Nobody is called so, or several are: choose one below.";
    return `${one.agent.role} of ${one.project}, ${one.agent.kind}`;
  };
  return (
    <p id={id} className="min-h-4 text-xs text-quiet">
      {said()}
    </p>
  );
}

type ListProps = {
  id: string;
  found: ReadonlyArray<Recipient>;
  here: number;
  onChoose: (recipient: Recipient) => void;
};

function List({ id, found, here, onChoose }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[here]?.scrollIntoView({ block: "nearest" });
  }, [here]);
  return (
    <div
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label="Agents"
      className="absolute inset-x-0 top-14 z-10 max-h-56 overflow-y-auto rounded-lg border border-edge bg-panel p-1 shadow-overlay"
    >
      {found.map((recipient, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
        <div
          key={recipient.agent.id}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === here}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(recipient)}
          className={classes(
            "flex min-h-8 items-center gap-2 rounded-md px-2",
            at === here ? "bg-selected" : "hover:bg-hover",
          )}
        >
          <PhaseDot phase={recipient.agent.phase} intent={recipient.agent.intent} named />
          <span className="truncate font-medium">{recipient.agent.name}</span>
          <span className="truncate text-quiet">{recipient.agent.role}</span>
          <span className="ml-auto truncate text-xs text-quiet">{recipient.project}</span>
        </div>
      ))}
    </div>
  );
}
