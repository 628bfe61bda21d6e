/**
 * Text with Markdown in it. What is drawn by `markdown-body` is loaded when the first such text is shown; until
 * then, the text stands there as it was written.
 */

import { lazy, memo, Suspense } from "react";

const Body = lazy(() => import("./markdown-body"));

/** A text, with its headings, lists, tables and code drawn. It may come from anybody: no HTML of it is used. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="break-words whitespace-pre-wrap">{text}</div>}>
      <Body text={text} />
    </Suspense>
  );
});
