/** What is being written and was not sent: kept while the tab is open, and sent once even if it is sent again. */

import { isMessageKind } from "../../feed/data";
import type { MessageKind } from "../../wire";

export type Draft = {
  /** To whom, as it was typed. */
  to: string;
  kind: MessageKind;
  interrupt: boolean;
  body: string;
  /** What was sent last and was not answered, with the key that it was sent by. */
  tried: { said: string; key: string } | null;
};

export const EMPTY: Draft = { to: "", kind: "user", interrupt: false, body: "", tried: null };

/**
 * Returns the draft as it is to be sent: the very same with the same key, anything else with a new one. `about` is
 * what is sent with it besides: to whom it really goes, and what it answers.
 */
export function keyed(
  draft: Draft,
  about: unknown,
  newKey: () => string,
): Draft & { tried: { key: string } } {
  const said = JSON.stringify([draft.kind, draft.interrupt, draft.body, about]);
  const tried = draft.tried?.said === said ? draft.tried : { said, key: newKey() };
  return { ...draft, tried };
}

/**
 * Returns what is left of a draft once `sent` of it is stored: what was written after it meanwhile, or all if it was
 * changed into something else.
 */
export function leftOf(draft: Draft, sent: string): Draft {
  // What is written again, word for word, is another message.
  if (!draft.body.startsWith(sent)) return { ...draft, tried: null };
  const body = draft.body.slice(sent.length).trimStart();
  return body === "" ? EMPTY : { ...draft, body, tried: null };
}

/** Returns a key that nobody else makes. It is made so that it also works where a page has no secure origin. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Reads a draft that was kept, in which anything may be written. */
export function readDraft(kept: string | null): Draft {
  if (kept === null) return EMPTY;
  try {
    const said = JSON.parse(kept) as Partial<Record<keyof Draft, unknown>> | null;
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    const kind = text(said?.kind);
    const tried = said?.tried as Draft["tried"] | undefined;
    return {
      to: text(said?.to),
      kind: isMessageKind(kind) ? kind : EMPTY.kind,
      interrupt: said?.interrupt === true,
      body: text(said?.body),
      tried: typeof tried?.said === "string" && typeof tried.key === "string" ? tried : null,
    };
  } catch {
    return EMPTY;
  }
}

const place = (name: string) => `cmux draft ${name}`;

/** Returns the draft of that name. */
export function keptDraft(name: string): Draft {
  try {
    return readDraft(sessionStorage.getItem(place(name)));
  } catch {
    return EMPTY;
  }
}

/** Keeps a draft; one that says nothing is forgotten. */
export function keepDraft(name: string, draft: Draft): void {
  try {
    if (draft.body === "" && draft.to === "") sessionStorage.removeItem(place(name));
    else sessionStorage.setItem(place(name), JSON.stringify(draft));
  } catch {
    // A browser that keeps nothing loses it with the page.
  }
}
