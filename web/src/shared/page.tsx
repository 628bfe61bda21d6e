/** The frame of every page: a head with its name and what can be done, and a body that scrolls. */

import type { ReactNode } from "react";
import { useTitle } from "./title";

type Props = {
  title: string;
  /** Said after the title, in grey. */
  detail?: ReactNode;
  /** Before the title: a way back, an icon. */
  before?: ReactNode;
  /** What can be done here. */
  actions?: ReactNode;
  /** A bar below the head: filters, tabs. */
  bar?: ReactNode;
  children: ReactNode;
};

/** A page. Its body takes all the room that is left, and lays itself out as a column. */
export function Page({ title, detail, before, actions, bar, children }: Props) {
  useTitle(title);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-edge px-3 py-1.5 rail:px-4">
        {before}
        <h1 className="truncate text-base font-semibold">{title}</h1>
        {detail && <div className="min-w-0 truncate text-quiet">{detail}</div>}
        {actions && <div className="ml-auto flex items-center gap-2">{actions}</div>}
      </header>
      {bar}
      <div className="flex min-h-0 flex-1 flex-col">{children}</div>
    </div>
  );
}

/** A body that scrolls by itself and is no wider than is good to read. */
export function Column({ children }: { children: ReactNode }) {
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-3xl flex-col gap-6 px-3 py-5 rail:px-6">{children}</div>
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({ title, detail, actions, children }: Omit<Props, "bar" | "before">) {
  return (
    <section className="flex flex-col gap-2">
      <div className="flex items-end gap-3">
        <div className="min-w-0 flex-1">
          <h2 className="text-base font-semibold">{title}</h2>
          {detail && <p className="text-quiet">{detail}</p>}
        </div>
        {actions}
      </div>
      <div className="rounded-lg border border-edge bg-panel">{children}</div>
    </section>
  );
}
