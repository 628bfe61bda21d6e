/** A dialog over the page. */

import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes } from "./classes";
import { useInert } from "./inert";

export const SHADE = "appears fixed inset-0 z-40 bg-shade";
export const SHEET =
  "appears fixed left-1/2 z-40 flex w-[calc(100vw-1.5rem)] -translate-x-1/2 flex-col overflow-hidden rounded-lg " +
  "border border-edge bg-panel shadow-overlay focus:outline-none";

type Props = {
  open: boolean;
  onClose: () => void;
  title: string;
  /** What it is for, in a sentence. */
  detail?: ReactNode;
  wide?: boolean;
  children: ReactNode;
};

/** A dialog with a title. It closes with Escape, with its button, and by a click beside it. */
export function Dialog({ open, onClose, title, detail, wide, children }: Props) {
  useInert(open);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={SHADE} />
        <Radix.Content
          className={classes(
            SHEET,
            "top-[max(1rem,10vh)] max-h-[calc(100dvh-2rem)] rail:max-h-[80vh]",
            wide ? "max-w-3xl" : "max-w-lg",
          )}
          {...(detail ? {} : { "aria-describedby": undefined })}
        >
          <header className="flex items-start gap-3 px-4 pt-4 pb-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              {detail && (
                <Radix.Description asChild>
                  <div className="mt-0.5 text-quiet">{detail}</div>
                </Radix.Description>
              )}
            </div>
            <Radix.Close
              aria-label="Close"
              className="-mt-1 -mr-1 inline-flex size-8 items-center justify-center rounded-md text-quiet hover:bg-hover hover:text-ink"
            >
              <X aria-hidden size={16} />
            </Radix.Close>
          </header>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The part of a dialog that scrolls. */
export function DialogBody({ children }: { children: ReactNode }) {
  return <div className="min-h-0 flex-1 overflow-y-auto px-4 pb-4">{children}</div>;
}

/** The buttons of a dialog, the one that does it last. */
export function DialogFoot({ children }: { children: ReactNode }) {
  return (
    <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-edge bg-sunken px-4 py-3">
      {children}
    </footer>
  );
}
