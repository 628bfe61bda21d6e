/** Sends what was written, once, and keeps the draft until it is known to be stored. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { sendMessage } from "../../api/routes";
import { toastError } from "../../shared/toast";
import type { Message, NewMessage } from "../../wire";
import { type Draft, keepDraft, keptDraft, keyed, leftOf, newKey } from "./draft";
import { learnMessage } from "./mail";

/** The draft of that name, and how it is written and sent. `onSent` is told what was stored, and what is left to be sent. */
export function useSending(name: string, onSent: (message: Message, left: Draft) => void) {
  const client = useQueryClient();
  const [draft, setDraft] = useState(() => keptDraft(name));
  // It may be written on while it is sent.
  const latest = useRef(draft);
  const keep = (next: Draft) => {
    latest.current = next;
    setDraft(next);
    keepDraft(name, next);
  };
  const sending = useMutation({
    mutationFn: (body: NewMessage) => sendMessage(body),
    onSuccess: (message, sent) => {
      const left = leftOf(latest.current, sent.body);
      keep(left);
      learnMessage(client, message);
      onSent(message, left);
    },
    onError: (error) => toastError(error, "It was not sent"),
  });
  return {
    draft,
    isSending: sending.isPending,
    write: (change: Partial<Draft>) => keep({ ...latest.current, ...change }),
    /** Sends the draft, with what `more` says of it. */
    send: (more: Partial<NewMessage>) => {
      const draft = latest.current;
      if (draft.body.trim() === "" || sending.isPending) return;
      const ready = keyed(draft, more, newKey);
      keep(ready);
      sending.mutate({ body: ready.body, key: ready.tried.key, ...more });
    },
  };
}

export type Sending = ReturnType<typeof useSending>;

/** Returns whether a key means that what was written is to be sent. */
export function isSend(event: { key: string; ctrlKey: boolean; metaKey: boolean }): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey);
}
