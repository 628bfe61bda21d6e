/** The way back to the end of what grows there. */

import { ArrowDown } from "lucide-react";
import { Button } from "./button";
import type { Following } from "./follow-end";

/** A button over the lower edge of a list, for as long as its end is not followed. */
export function ToNewest({ following }: { following: Following<HTMLElement> }) {
  if (following.isFollowing) return null;
  return (
    <Button
      icon={ArrowDown}
      onClick={following.toEnd}
      className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-overlay"
    >
      To the newest
    </Button>
  );
}
