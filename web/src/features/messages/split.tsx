/** A list with what is open beside it; on a narrow screen, one in the place of the other. */

import { MessagesSquare } from "lucide-react";
import type { ReactNode } from "react";
import { classes } from "../../shared/classes";
import { Empty } from "../../shared/empty";

type Props = { isOpen: boolean; list: ReactNode; children: ReactNode };

export function Split({ isOpen, list, children }: Props) {
  return (
    <div className="flex min-h-0 flex-1">
      <div
        className={classes(
          "min-h-0 min-w-0 flex-1 flex-col wide:w-[clamp(24rem,30%,34rem)] wide:flex-none wide:border-r wide:border-edge",
          isOpen ? "hidden wide:flex" : "flex",
        )}
      >
        {list}
      </div>
      <div className={classes("min-h-0 min-w-0 flex-1", isOpen ? "flex" : "hidden wide:flex")}>
        {isOpen ? (
          children
        ) : (
          <div className="m-auto">
            <Empty icon={MessagesSquare} title="No conversation is open">
              Choose one, or go through them with j and k.
            </Empty>
          </div>
        )}
      </div>
    </div>
  );
}
