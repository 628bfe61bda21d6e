/** The palette: every action and every agent, by a few letters. */

import { Command } from "cmdk";
import { CornerDownLeft, Search } from "lucide-react";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, useMemo, useState } from "react";
import { type Action, allActions } from "../shared/actions";
import { Badge } from "../shared/badge";
import { classes } from "../shared/classes";
import { SHADE, SHEET } from "../shared/dialog";
import { useInert } from "../shared/inert";
import { Kbd } from "../shared/kbd";
import { setOpened, useOpened } from "./opened";
import { ranked } from "./rank";

/** How many are drawn at once. The rest is found by more letters. */
const SHOWN_MAX = 50;

export function Palette() {
  const isOpen = useOpened() === "palette";
  useInert(isOpen);
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => setOpened(open ? "palette" : null)}>
      <Dialog.Portal>
        <Dialog.Overlay className={SHADE} />
        <Dialog.Content
          aria-describedby={undefined}
          className={classes(SHEET, "top-[12vh] max-h-[70dvh] max-w-xl")}
        >
          <Dialog.Title className="sr-only">Do anything</Dialog.Title>
          <Actions />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Returns the actions by their heading, in the order in which the headings come up. */
function grouped(actions: ReadonlyArray<Action>): Map<string, Action[]> {
  const groups = new Map<string, Action[]>();
  for (const action of actions) {
    const group = groups.get(action.group);
    if (group === undefined) groups.set(action.group, [action]);
    else group.push(action);
  }
  return groups;
}

function Actions() {
  const [above, setAbove] = useState<Action | null>(null);
  const [typed, setTyped] = useState("");
  const actions = useMemo(() => above?.more?.() ?? allActions(), [above]);
  const groups = grouped(ranked(actions, typed, SHOWN_MAX));
  const run = (action: Action) => {
    if (action.more) {
      setAbove(action);
      setTyped("");
      return;
    }
    setOpened(null);
    // The dialog gives the focus back first; what is run may take it.
    setTimeout(action.run, 0);
  };
  const goUp = (event: KeyboardEvent) => {
    if (event.key !== "Backspace" || typed !== "" || above === null) return;
    event.preventDefault();
    setAbove(null);
  };
  return (
    // Its own Ctrl-K would go up a line, and not close it.
    <Command
      label="Do anything"
      loop
      vimBindings={false}
      shouldFilter={false}
      className="flex min-h-0 flex-col"
    >
      <div className="flex items-center gap-2 border-b border-edge px-3">
        <Search aria-hidden size={16} className="shrink-0 text-quiet" />
        {above && <Badge>{above.title.replace("…", "")}</Badge>}
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          onKeyDown={goUp}
          placeholder={above ? "Which one?" : "What do you want to do?"}
          className="h-11 w-full bg-transparent text-base outline-none"
        />
      </div>
      <Command.List className="min-h-0 overflow-y-auto p-1.5">
        <Command.Empty className="px-3 py-8 text-center text-quiet">
          Nothing is called so. Try an agent's name, or “spawn”.
        </Command.Empty>
        {[...groups].map(([name, actions]) => (
          <Command.Group
            key={name}
            heading={name}
            className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint"
          >
            {actions.map((action) => (
              <Item key={action.id} action={action} onRun={run} />
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  );
}

function Item({ action, onRun }: { action: Action; onRun: (action: Action) => void }) {
  const Icon = action.icon ?? CornerDownLeft;
  return (
    <Command.Item
      value={action.id}
      onSelect={() => onRun(action)}
      className="flex h-9 items-center gap-2.5 rounded-md px-2 data-[selected=true]:bg-hover"
    >
      <Icon aria-hidden size={15} className="shrink-0 text-quiet" />
      <span className="min-w-0 flex-1 truncate">{action.title}</span>
      {action.keys && (
        <span className="hidden rail:inline">
          <Kbd keys={action.keys} />
        </span>
      )}
    </Command.Item>
  );
}
