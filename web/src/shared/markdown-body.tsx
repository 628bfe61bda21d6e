/** Draws Markdown. It is loaded when it is needed. */

import { type ReactNode, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyButton } from "./copy";
import { isOutward } from "./outward";
import { Scrolls } from "./scrolls";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => <Outward href={href}>{children}</Outward>,
  // Nothing is loaded from elsewhere because of what an agent says.
  img: ({ src, alt }) => <Outward href={src}>{alt || String(src)}</Outward>,
  pre: ({ children }) => <Code>{children}</Code>,
  // What is done and what is not, in a list of tasks.
  input: ({ checked }) => (
    <input type="checkbox" disabled checked={checked} aria-label={checked ? "Done" : "To do"} />
  ),
  table: ({ children }) => (
    <Scrolls as="div" className="overflow-x-auto">
      <table>{children}</table>
    </Scrolls>
  ),
  // A page has its own headings; those of a text are below them.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
};

export default function MarkdownBody({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
}

/** A link to elsewhere. What leads nowhere else is text, so that nobody has the person follow a link of cmux's own. */
function Outward({ href, children }: { href: unknown; children: ReactNode }) {
  if (typeof href !== "string" || !isOutward(href, location.origin)) return children;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** A block of code, which can be copied. */
function Code({ children }: { children: ReactNode }) {
  const block = useRef<HTMLPreElement>(null);
  return (
    <div className="group/code relative">
      <Scrolls as="pre" ref={block}>
        {children}
      </Scrolls>
      <CopyButton
        what="the code"
        text={() => block.current?.textContent ?? ""}
        className="absolute top-1 right-1 bg-panel opacity-0 group-hover/code:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100"
      />
    </div>
  );
}
