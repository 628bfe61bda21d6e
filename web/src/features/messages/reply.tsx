/** The box below a conversation in which the person answers. */

import { CornerUpLeft, Send } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type Ref, useMemo, useState } from "react";
import { useAgents } from "../../feed/store";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { INPUT, Select } from "../../shared/field";
import { Kbd } from "../../shared/kbd";
import type { Message } from "../../wire";
import { isSend, type Sending, useSending } from "./sending";
import { answered, type Partner, partners } from "./threads";

type Props = {
  thread: string;
  messages: ReadonlyArray<Message>;
  field: Ref<HTMLTextAreaElement>;
};

/** The box, with who is answered. Once something is written, that is another one only if the person says so. */
export function Reply({ thread, messages, field }: Props) {
  const agents = useAgents();
  const others = useMemo(() => partners(messages, agents), [messages, agents]);
  const [chosen, setChosen] = useState<string | null>(null);
  const sending = useSending(`reply ${thread}`, () => {});
  const { draft, write } = sending;
  const partner = answered(others, { begun: draft.to || null, chosen });
  if (others.length === 0) {
    return (
      <p className="flex items-center gap-2 border-t border-edge px-3 py-3 text-quiet rail:px-4">
        <CornerUpLeft aria-hidden size={14} className="shrink-0" />
        Nobody in this conversation can be answered: they are gone, or read no mail.
      </p>
    );
  }
  const choose = (id: string) => {
    setChosen(id);
    if (draft.body !== "") write({ to: id });
  };
  return (
    <Form partner={partner} sending={sending} field={field}>
      {(others.length > 1 || partner === undefined) && (
        <div className="mr-auto w-44">
          <Select
            bare
            label="Who is answered"
            value={partner?.agent.id ?? ""}
            placeholder="To whom?"
            onChange={choose}
            options={others.map(({ agent }) => ({ value: agent.id, label: `To ${agent.name}` }))}
          />
        </div>
      )}
    </Form>
  );
}

type FormProps = Pick<Props, "field"> & {
  /** Nobody if the one it was begun to is gone: then it waits until somebody is chosen. */
  partner: Partner | undefined;
  sending: Sending;
  children: ReactNode;
};

function Form({ partner, sending, field, children }: FormProps) {
  const { draft, isSending, write, send } = sending;
  const submit = () => partner && send({ to: partner.agent.id, reply_to: partner.replyTo });
  const written = (body: string) => {
    // What was begun to one who is gone goes to nobody else unasked.
    const to = partner?.agent.id ?? draft.to;
    write({ body, to: body === "" ? "" : to });
  };
  const answering = `Answer ${partner?.agent.name ?? "somebody"}`;
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isSend(event)) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.currentTarget.blur();
    }
  };
  return (
    <form
      className="border-t border-edge bg-ground"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="mx-auto flex max-w-4xl flex-col gap-2 px-3 py-2.5 rail:px-4">
        <textarea
          ref={field}
          rows={2}
          value={draft.body}
          aria-label={answering}
          placeholder={`${answering}…`}
          onChange={(event) => written(event.target.value)}
          onKeyDown={press}
          className={classes(INPUT, "field-sizing-content max-h-60 min-h-14 resize-none py-1.5")}
        />
        <div className="flex items-center justify-end gap-2">
          {children}
          <span className="hidden rail:inline">
            <Kbd keys="mod+enter" />
          </span>
          <Button
            type="submit"
            look="primary"
            icon={Send}
            busy={isSending}
            disabled={draft.body.trim() === "" || partner === undefined}
          >
            Answer
          </Button>
        </div>
      </div>
    </form>
  );
}
