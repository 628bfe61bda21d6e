/** One thing of a conversation. */

import { Brain, Info, User } from "lucide-react";
import { memo } from "react";
import { classes } from "../../../shared/classes";
import { clock, moment } from "../../../shared/format";
import { Markdown } from "../../../shared/markdown";
import type { Time } from "../../../wire";
import { CallFace, ResultFace } from "./call";
import { Cut } from "./cut";
import { Fold } from "./fold";
import { type Item, isSameItem } from "./items";
import { MessageLink } from "./message-link";

/** It is drawn again only when it is shown differently. */
export const ItemFace = memo(
  function ItemFace({ item }: { item: Item }) {
    return (
      <div
        className={classes(item.subagent && "ml-3 border-l-2 border-edge-strong pl-3 rail:ml-5")}
      >
        {item.subagent && <span className="sr-only">Of a subagent: </span>}
        <Face item={item} />
      </div>
    );
  },
  (one, other) => isSameItem(one.item, other.item),
);

function Face({ item }: { item: Item }) {
  switch (item.what) {
    case "prompt":
      return <Prompt item={item} />;
    case "answer":
      return (
        <div className="py-1.5 text-base">
          <Markdown text={item.text} />
          <Cut isCut={item.text_cut} />
        </div>
      );
    case "thinking":
      return (
        <Fold icon={Brain} title="Thinking" summary={firstLine(item.text)}>
          <div className="px-3 py-2 text-quiet">
            <Markdown text={item.text} />
            <Cut isCut={item.text_cut} />
          </div>
        </Fold>
      );
    case "note":
      return (
        <p className="flex items-start gap-2 py-1 text-quiet">
          <Info aria-hidden size={14} className="mt-0.5 shrink-0" />
          <span className="min-w-0 break-words whitespace-pre-wrap">{item.text}</span>
        </p>
      );
    case "call":
      return <CallFace call={item.call} result={item.result} />;
    case "result":
      return <ResultFace result={item.result} />;
  }
}

function Prompt({ item }: { item: Extract<Item, { what: "prompt" }> }) {
  return (
    <div className="my-1.5 rounded-lg border border-edge bg-panel px-3 py-2">
      <div className="mb-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-quiet">
        <span className="inline-flex items-center gap-1 font-medium">
          <User aria-hidden size={13} /> Prompt
        </span>
        {item.messages.map((id) => (
          <MessageLink key={id} id={id} />
        ))}
        <When at={item.at} />
      </div>
      <p className="break-words whitespace-pre-wrap">
        {item.messages.length > 0 ? <Delivered text={item.text} /> : item.text}
      </p>
      <Cut isCut={item.text_cut} />
    </div>
  );
}

/** The lines by which cmux says who wrote what follows. Such a line of somebody's own text is marked. */
const HEADERS = /^(\[cmux (?:and )?dlv_\w+ from .+\])\n/m;

/** What cmux delivered, in which what was said is read first, and its headers when they are wanted. */
function Delivered({ text }: { text: string }) {
  return text.split(HEADERS).map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <span key={part} title={part} className="block truncate text-xs text-faint">
        {part}
      </span>
    ),
  );
}

/** When something was said, if that is known. */
function When({ at }: { at: Time | null }) {
  if (at === null) return null;
  return (
    <time dateTime={at} title={moment(at)} className="ml-auto shrink-0 text-xs text-faint">
      {clock(at)}
    </time>
  );
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
