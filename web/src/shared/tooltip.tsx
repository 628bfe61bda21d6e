/** A word or two about what is pointed at. */

import { Tooltip as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

type Props = {
  text: ReactNode;
  side?: "top" | "right" | "bottom" | "left";
  children: ReactElement;
};

/** Shows `text` when its child is pointed at or has the focus. The child keeps its own name. */
export function Tooltip({ text, side = "top", children }: Props) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side={side}
          sideOffset={4}
          collisionPadding={8}
          className="appears z-50 max-w-xs rounded-md bg-ink px-2 py-1 text-xs text-ground"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
