/** One message of a conversation: who said it to whom, what it says, and how it got there. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Ban, RotateCw } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { cancelMessage, retryMessage, showMessage } from "../../api/routes";
import { useFleet } from "../../feed/store";
import { Age } from "../../shared/age";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { bytes } from "../../shared/format";
import { Markdown } from "../../shared/markdown";
import { toast, toastError } from "../../shared/toast";
import type { Message, MessageState } from "../../wire";
import { JourneyView } from "./journey-view";
import { learnMessage } from "./mail";
import { nameOf, To } from "./names";
import { KindBadge, StateLabel } from "./state";
import { agentCalled, USER } from "./threads";

type Props = { message: Message; isNewest: boolean };

export function Letter({ message, isNewest }: Props) {
  return (
    <article
      aria-label={`${nameOf(message.from)} to ${nameOf(message.to)}`}
      className={classes(
        "flex flex-col gap-2 rounded-lg border border-edge bg-panel px-3 py-2.5 rail:px-4",
        message.from === USER && "border-l-2 border-l-accent",
      )}
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="inline-flex min-w-0 items-center gap-1 font-medium">
          <Who name={message.from} project={message.project} />
          <To />
          <Who name={message.to} project={message.project} />
        </span>
        <KindBadge kind={message.kind} />
        <span className="ml-auto flex items-center gap-3 text-xs text-quiet">
          <StateLabel state={message.state} />
          <Age at={message.created_at} />
        </span>
      </header>
      <Body message={message} />
      <footer className="flex flex-wrap items-start justify-between gap-x-3 gap-y-1">
        <JourneyView message={message} isNewest={isNewest} />
        <Doings message={message} />
      </footer>
    </article>
  );
}

/** Somebody's name; an agent's leads to it. */
function Who({ name, project }: { name: string; project: string }) {
  const id = useFleet((state) => agentCalled(state.agents.values(), name, project)?.id);
  if (id === undefined) return <span className="truncate">{nameOf(name)}</span>;
  return (
    <Link to="/agents/$agent" params={{ agent: id }} className="truncate hover:underline">
      {name}
    </Link>
  );
}

/** How high a body may be before only its beginning is shown. */
const HEIGHT_MAX = 420;

/** The longest body that is read as Markdown; a longer one is shown as it is, so that the page stays quick. */
const DRAWN_MAX = 200_000;

/** What a message says: its beginning if it is long, and all of it when it is asked for. */
function Body({ message }: { message: Message }) {
  const client = useQueryClient();
  const [isAll, setAll] = useState(false);
  const [isHigh, setHigh] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const inside = box.current?.firstElementChild;
    if (!inside) return;
    const look = () => setHigh(inside.scrollHeight > HEIGHT_MAX * 1.25);
    const watch = new ResizeObserver(look);
    watch.observe(inside);
    return () => watch.disconnect();
  }, []);
  const load = useMutation({
    mutationFn: () => showMessage(message.id),
    onSuccess: (whole) => {
      learnMessage(client, whole);
      setAll(true);
    },
    onError: (error) => toastError(error, "The rest could not be read"),
  });
  const isCut = message.body_cut || (isHigh && !isAll);
  return (
    <>
      <div
        ref={box}
        className={classes("min-w-0", isHigh && !isAll && "overflow-hidden")}
        style={isHigh && !isAll ? { maxHeight: HEIGHT_MAX } : undefined}
      >
        <div>
          {message.body.length > DRAWN_MAX ? (
            <div className="break-words whitespace-pre-wrap">{message.body}</div>
          ) : (
            <Markdown text={message.body} />
          )}
        </div>
      </div>
      {isCut ? (
        <Button
          className="self-start"
          busy={load.isPending}
          onClick={() => (message.body_cut ? load.mutate() : setAll(true))}
        >
          Show all{message.body_bytes > 1024 ? ` (${bytes(message.body_bytes)})` : ""}
        </Button>
      ) : (
        isHigh && (
          <Button className="self-start" look="ghost" onClick={() => setAll(false)}>
            Show less
          </Button>
        )
      )}
    </>
  );
}

type Doing = "retry" | "cancel" | null;

/** Returns what can be done about a message in this state. */
function doingOf(state: MessageState): Doing {
  switch (state) {
    case "queued":
    case "typing":
    case "submitted":
    case "in_doubt":
      return "cancel";
    case "failed":
    case "cancelled":
    case "expired":
      return "retry";
    case "claimed":
    case "delivered":
      return null;
  }
}

/** Says why a message is not taken back yet, or will not be. */
function tooLate(state: MessageState): string {
  return state === "delivered"
    ? "It was too late: it was read"
    : "It is on its way, and is taken back if that can still be done";
}

function Doings({ message }: { message: Message }) {
  const client = useQueryClient();
  const doing = doingOf(message.state);
  const act = useMutation({
    // What is done is said when it begins: the log may tell of its end before this is answered.
    mutationFn: async (what: "retry" | "cancel") => {
      try {
        const answered = await (what === "retry" ? retryMessage : cancelMessage)(message.id);
        if (what === "cancel" && answered.state !== "cancelled") toast(tooLate(answered.state));
        learnMessage(client, answered);
      } catch (error) {
        toastError(error, what === "retry" ? "It was not sent again" : "It was not taken back");
      }
    },
  });
  switch (doing) {
    case "retry":
      return (
        <Button icon={RotateCw} busy={act.isPending} onClick={() => act.mutate("retry")}>
          Send again
        </Button>
      );
    case "cancel":
      return (
        <Button icon={Ban} busy={act.isPending} onClick={() => act.mutate("cancel")}>
          Take back
        </Button>
      );
    case null:
      return null;
  }
}
