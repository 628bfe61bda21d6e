/** Asks before something is done that cannot be undone. */

import { AlertDialog } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./button";
import { cell } from "./cell";
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

const asked = cell<Asked | null>(null);

/** Asks the person, and returns whether they want it. */
export function confirm(question: Question): Promise<boolean> {
  asked.get()?.answer(false);
  return new Promise((resolve) => {
    asked.set({
      question,
      answer: (yes) => {
        asked.set(null);
        resolve(yes);
      },
    });
  });
}

/** Where questions are shown. There is one, in the layout. */
export function ConfirmHost() {
  const now = asked.use();
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
