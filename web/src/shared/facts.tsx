/** What is known of something, fact by fact, in a `dl`. */

import type { ReactNode } from "react";
import { CopyButton } from "./copy";

type Props = {
  name: string;
  /** What it is, which can be copied, too. */
  copied?: string | null;
  isCode?: boolean;
  children?: ReactNode;
};

/** A fact and its name. What is not known is a dash. */
export function Fact({ name, copied, isCode, children }: Props) {
  return (
    <div className="grid min-h-9 grid-cols-[6.5rem_minmax(0,1fr)] items-center gap-x-3 border-b border-edge px-3 py-1 last:border-b-0 rail:grid-cols-[9rem_minmax(0,1fr)]">
      <dt className="text-quiet">{name}</dt>
      <dd className="flex min-w-0 items-center gap-3">
        <span className="min-w-0 flex-1 break-words">
          {children ?? (isCode && copied ? <code className="break-all">{copied}</code> : "–")}
        </span>
        {copied && <CopyButton what={name.toLowerCase()} text={copied} />}
      </dd>
    </div>
  );
}
