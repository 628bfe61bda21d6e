/**
 * Text with Markdown in it. What is drawn by `markdown-body` is loaded when the first such text is shown; until
 * then, or if that fails, the text stands there as it was written.
 */

import { memo } from "react";
import { part, usePart } from "./part";

const body = part(() => import("./markdown-body"));

/** A text, with its headings, lists, tables and code drawn. It may come from anybody: no HTML of it is used. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const Body = usePart(body);
  if (Body === null) return <div className="break-words whitespace-pre-wrap">{text}</div>;
  return <Body text={text} />;
});
