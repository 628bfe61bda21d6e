/** A menu that a button opens. */

import type { LucideIcon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import {
  type ComponentProps,
  cloneElement,
  type KeyboardEvent,
  type ReactElement,
  type RefObject,
  useRef,
  useState,
} from "react";
import { classes } from "./classes";

export type MenuItem =
  | {
      label: string;
      icon?: LucideIcon;
      run: () => void;
      danger?: boolean;
      disabled?: boolean;
      /** Said after the label, in grey. */
      hint?: string;
    }
  | "line";

type Props = {
  /** What is in it, asked when it is opened. */
  items: () => ReadonlyArray<MenuItem>;
  align?: "start" | "end";
  children: ReactElement<ComponentProps<"button">>;
};

const ITEM =
  "flex h-8 items-center gap-2 rounded-md px-2 outline-none data-[highlighted]:bg-hover data-[disabled]:opacity-45";

/** Opens `items` from its child, which is a button. Nothing of it is there before, so that rows are cheap. */
export function Menu({ items, align = "end", children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  const button = cloneElement(children, {
    "aria-haspopup": "menu",
    "aria-expanded": isOpen,
    onClick: () => setOpen(!isOpen),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      setOpen(true);
    },
  });
  return (
    <span ref={place} className="relative inline-flex">
      {button}
      {isOpen && (
        <Opened items={items} align={align} place={place} onClose={() => setOpen(false)} />
      )}
    </span>
  );
}

type OpenedProps = Required<Omit<Props, "children" | "items">> & {
  items: () => ReadonlyArray<MenuItem>;
  place: RefObject<HTMLSpanElement | null>;
  onClose: () => void;
};

function Opened({ items, align, place, onClose }: OpenedProps) {
  const keepOwn = (event: CustomEvent<{ originalEvent: Event }>) => {
    // A click on the button closes it by itself.
    if (place.current?.contains(event.detail.originalEvent.target as Node)) event.preventDefault();
  };
  const chosen = useRef<(() => void) | null>(null);
  const giveBack = (event: Event) => {
    event.preventDefault();
    place.current?.querySelector("button")?.focus();
    // What is run may take the focus, and then gives it back to the button, too.
    chosen.current?.();
  };
  const choose = (run: () => void) => {
    chosen.current = run;
  };
  return (
    <DropdownMenu.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <DropdownMenu.Trigger asChild>
        <span aria-hidden tabIndex={-1} className="pointer-events-none absolute inset-0" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onInteractOutside={keepOwn}
          onCloseAutoFocus={giveBack}
          className="appears z-50 min-w-48 rounded-lg border border-edge bg-panel p-1 text-sm shadow-overlay"
        >
          {items().map((item, at) =>
            item === "line" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place alone.
              <DropdownMenu.Separator key={at} className="my-1 h-px bg-edge" />
            ) : (
              <Item key={item.label} item={item} onChoose={choose} />
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

type ItemProps = { item: Exclude<MenuItem, "line">; onChoose: (run: () => void) => void };

function Item({ item, onChoose }: ItemProps) {
  return (
    <DropdownMenu.Item
      disabled={item.disabled ?? false}
      onSelect={() => onChoose(item.run)}
      className={classes(ITEM, item.danger && "text-failed")}
    >
      {item.icon ? <item.icon aria-hidden size={15} /> : <span className="w-[15px]" />}
      <span className="flex-1">{item.label}</span>
      {item.hint && <span className="text-xs text-faint">{item.hint}</span>}
    </DropdownMenu.Item>
  );
}
