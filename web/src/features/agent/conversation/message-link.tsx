/** A way from a prompt to the message that it brought. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Mail } from "lucide-react";
import { showMessage } from "../../../api/routes";
import { describeMessageKind } from "../../../shared/describe";
import type { Message } from "../../../wire";

/** Who sent a message and what it is, which leads to its thread. */
export function MessageLink({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ["message", id],
    queryFn: ({ signal }) => showMessage(id, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const said = data ? describe(data) : "A message";
  return (
    <Link
      to="/messages"
      search={{ thread: data?.thread ?? id }}
      className="inline-flex items-center gap-1 rounded text-accent hover:underline"
    >
      <Mail aria-hidden size={13} /> {said}
    </Link>
  );
}

/** Says what a message is and who sent it, once. */
function describe({ kind, from }: Message): string {
  const { label } = describeMessageKind(kind);
  if (kind === "user" || kind === "system") return label;
  return `${label} from ${from === "user" ? "you" : from}`;
}
