/** A part that scrolls by itself, which must be reached by keyboard so that it can be. */

import { type ComponentProps, createElement, type ReactElement } from "react";

type Part = "div" | "pre" | "section";

export function Scrolls<P extends Part>({
  as,
  ...rest
}: ComponentProps<P> & { as: P }): ReactElement {
  return createElement<object>(as, { tabIndex: 0, ...rest });
}
