/** A row that opens. */

import { ChevronRight, type LucideIcon } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { classes } from "../../../shared/classes";

type Props = {
  icon: LucideIcon;
  title: string;
  /** What is in it, in a line. */
  summary: string;
  /** At the end of the row: how it went. */
  end?: ReactNode;
  isMono?: boolean;
  children: ReactNode;
};

/** A row with a title, which shows what is below it when it is pressed. Nothing of that is there before. */
export function Fold({ icon: Icon, title, summary, end, isMono, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <div className={classes("rounded-md border", isOpen ? "border-edge" : "border-transparent")}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-8 w-full min-w-0 items-center gap-2 rounded-md px-2 text-left text-quiet hover:bg-hover"
      >
        <ChevronRight
          aria-hidden
          size={14}
          className={classes("shrink-0", isOpen && "rotate-90")}
        />
        <Icon aria-hidden size={14} className="shrink-0" />
        <span className="shrink-0 font-medium text-ink">{title}</span>
        <span className={classes("min-w-0 flex-1 truncate", isMono && "font-mono text-xs")}>
          {summary}
        </span>
        {end}
      </button>
      {isOpen && (
        <div id={id} className="border-t border-edge">
          {children}
        </div>
      )}
    </div>
  );
}
