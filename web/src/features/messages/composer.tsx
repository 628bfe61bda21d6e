/** The dialog in which a new message is written. */

import { Send } from "lucide-react";
import { useId, useLayoutEffect, useRef } from "react";
import { getFleet } from "../../feed/store";
import { Button } from "../../shared/button";
import { Dialog, DialogBody, DialogFoot } from "../../shared/dialog";
import { Select, TextArea } from "../../shared/field";
import { Kbd } from "../../shared/kbd";
import { toast } from "../../shared/toast";
import type { Message, MessageKind } from "../../wire";
import { RecipientField, useRecipients } from "./recipient";
import { meant, recipientsOf } from "./recipients";
import { isSend, useSending } from "./sending";

type Props = {
  /** To the agent with this id, or to nobody yet if it is `new`. Not open without it. */
  compose: string | undefined;
  onClose: () => void;
  onSent: (message: Message) => void;
};

export function Composer({ compose, onClose, onSent }: Props) {
  return (
    <Dialog open={compose !== undefined} onClose={onClose} title="Write a message" wide>
      {compose !== undefined && <Form key={compose} compose={compose} onSent={onSent} />}
    </Dialog>
  );
}

/** What a person says, and what it means to its reader. */
const KINDS: ReadonlyArray<{ value: MessageKind; label: string; note: string }> = [
  { value: "user", label: "Message", note: "Something you say" },
  { value: "task", label: "Task", note: "Something to be done" },
  { value: "question", label: "Question", note: "Something to be answered" },
  { value: "status", label: "Status", note: "How something stands" },
  { value: "response", label: "Answer", note: "What was asked for" },
  { value: "error", label: "Error", note: "Something that went wrong" },
];

/** Returns how the agent with this id is addressed. */
function addressOf(id: string): string {
  const fleet = getFleet();
  if (fleet === null) return id;
  const all = recipientsOf({ agents: fleet.agents.values(), projects: fleet.projects });
  return all.find(({ agent }) => agent.id === id)?.address ?? id;
}

/** Returns what the draft is called: what is begun for one agent is not taken over for another. */
const draftOf = (compose: string) => (compose === "new" ? compose : `to ${compose}`);

function Form({ compose, onSent }: { compose: string; onSent: (message: Message) => void }) {
  const all = useRecipients();
  const to = useRef<HTMLInputElement>(null);
  const body = useRef<HTMLTextAreaElement>(null);
  const { draft, isSending, write, send } = useSending(draftOf(compose), (message, left) => {
    if (left.body === "") onSent(message);
    else toast("It is sent. What you have written since is kept.");
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address is taken over once, when it is opened.
  useLayoutEffect(() => {
    if (compose !== "new") write({ to: addressOf(compose) });
    const isKnown = compose !== "new" || draft.to !== "";
    (isKnown ? body : to).current?.focus();
  }, []);
  const submit = () => {
    if (draft.to.trim() === "") {
      to.current?.focus();
      return;
    }
    const { kind, interrupt } = draft;
    send({ to: meant(all, draft.to)?.agent.id ?? draft.to.trim(), kind, interrupt });
  };
  return (
    <form
      className="flex min-h-0 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (!isSend(event)) return;
        event.preventDefault();
        submit();
      }}
    >
      <DialogBody>
        <div className="flex flex-col gap-3">
          <div className="grid gap-3 rail:grid-cols-[1fr_11rem]">
            <RecipientField
              field={to}
              value={draft.to}
              onChange={(value) => write({ to: value })}
              onChosen={() => body.current?.focus()}
            />
            <Select
              label="Kind"
              value={draft.kind}
              onChange={(kind) => write({ kind: kind as MessageKind })}
              options={KINDS}
            />
          </div>
          <TextArea
            ref={body}
            label="Message"
            hint="Markdown. It is kept in this tab until it is sent."
            rows={8}
            value={draft.body}
            onChange={(event) => write({ body: event.target.value })}
          />
          <Interrupt isOn={draft.interrupt} onChange={(interrupt) => write({ interrupt })} />
        </div>
      </DialogBody>
      <Foot isSending={isSending} isReady={draft.to.trim() !== "" && draft.body.trim() !== ""} />
    </form>
  );
}

function Foot({ isSending, isReady }: { isSending: boolean; isReady: boolean }) {
  return (
    <DialogFoot>
      <span className="mr-auto hidden rail:inline">
        <Kbd keys="mod+enter" />
      </span>
      <Button type="submit" look="primary" icon={Send} busy={isSending} disabled={!isReady}>
        Send
      </Button>
    </DialogFoot>
  );
}

function Interrupt({ isOn, onChange }: { isOn: boolean; onChange: (isOn: boolean) => void }) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        id={id}
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
        aria-describedby={`${id}-note`}
        className="mt-0.5 size-4 accent-accent"
      />
      <div>
        <label htmlFor={id} className="font-medium">
          Interrupt its reader
        </label>
        <p id={`${id}-note`} className="text-xs text-quiet">
          It leaves what it does and reads this next. Without it, this waits until its turn is over.
        </p>
      </div>
    </div>
  );
}
