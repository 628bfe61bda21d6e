/** A way from a prompt to a message that it brought. */

import { Link } from "@tanstack/react-router";
import { Mail } from "lucide-react";
import { describeMessageKind } from "../../../shared/describe";
import type { Said } from "./delivered";

/** Who sent a message and what it is, which leads to its conversation. */
export function MessageLink({ id, said }: { id: string; said: Said | undefined }) {
  return (
    <Link
      to="/messages"
      search={{ thread: id }}
      className="inline-flex items-center gap-1 rounded font-medium text-accent hover:underline"
    >
      <Mail aria-hidden size={13} /> {said === undefined ? "A message" : inWords(said)}
    </Link>
  );
}

/** Says what a message is and who sent it, once. */
function inWords({ kind, from }: Said): string {
  const who = from === "user" ? "you" : from;
  if (kind === "user" || kind === "system") return `From ${who}`;
  return `${describeMessageKind(kind).label} from ${who}`;
}
