/** Who wrote to whom, in the words of a person. */

import { ArrowRight } from "lucide-react";
import type { Message } from "../../wire";
import { USER } from "./threads";

/** Returns how somebody is called here. */
export function nameOf(name: string): string {
  return name === USER ? "You" : name;
}

/** What is between the two: an arrow, and a word for those who do not see it. */
export function To() {
  return (
    <>
      <ArrowRight aria-hidden size={13} className="shrink-0 text-faint" />
      <span className="sr-only"> to </span>
    </>
  );
}

/** From whom, to whom. */
export function Way({ message }: { message: Pick<Message, "from" | "to"> }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-1 font-medium">
      <span className="truncate">{nameOf(message.from)}</span>
      <To />
      <span className="truncate">{nameOf(message.to)}</span>
    </span>
  );
}
