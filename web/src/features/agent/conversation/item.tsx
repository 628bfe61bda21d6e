/** One thing of a conversation. */

import { Brain, Info } from "lucide-react";
import { memo } from "react";
import { classes } from "../../../shared/classes";
import { CopyButton } from "../../../shared/copy";
import { Markdown } from "../../../shared/markdown";
import { CallFace, ResultFace } from "./call";
import { Cut } from "./cut";
import { Fold } from "./fold";
import { type Item, isSameItem } from "./items";
import { Prompt } from "./prompt";

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
        <div className="group/answer relative py-1.5 text-base">
          <Markdown text={item.text} />
          <Cut isCut={item.text_cut} />
          <CopyButton
            what="the answer"
            text={item.text}
            className="absolute right-0 bottom-0 bg-ground opacity-0 group-hover/answer:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100"
          />
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

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
