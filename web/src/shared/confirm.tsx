/** Asks before something is done that cannot be undone. */

import { AlertDialog } from "radix-ui";
import { type ReactNode, useSyncExternalStore } from "react";
import { Button } from "./button";
import { classes } from "./classes";
import { DialogFoot, SHADE, SHEET } from "./dialog";
import { useInert } from "./inert";

export type Question = {
  title: string;
  detail: ReactNode;
  /** What is on the button that does it: a verb. */
  action: string;
  danger?: boolean;
};

type Asked = { question: Question; answer: (yes: boolean) => void };

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function set(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** Asks the person, and returns whether they want it. */
export function confirm(question: Question): Promise<boolean> {
  asked?.answer(false);
  return new Promise((resolve) => {
    set({
      question,
      answer: (yes) => {
        set(null);
        resolve(yes);
      },
    });
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where questions are shown. There is one, in the layout. */
export function ConfirmHost() {
  const now = useSyncExternalStore(subscribe, () => asked);
  useInert(now !== null);
  if (now === null) return null;
  const { question, answer } = now;
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && answer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={SHADE} />
        <AlertDialog.Content className={classes(SHEET, "top-[20vh] max-w-md")}>
          <div className="p-4">
            <AlertDialog.Title className="text-lg font-semibold">
              {question.title}
            </AlertDialog.Title>
            <AlertDialog.Description asChild>
              <div className="mt-1 text-quiet">{question.detail}</div>
            </AlertDialog.Description>
          </div>
          <DialogFoot>
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look={question.danger ? "danger" : "primary"} onClick={() => answer(true)}>
                {question.action}
              </Button>
            </AlertDialog.Action>
          </DialogFoot>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
