/** One message of a conversation: who said it to whom, what it says, and how it got there. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CornerLeftUp } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { showMessage } from "../../api/routes";
import { useFleet } from "../../feed/store";
import { Age } from "../../shared/age";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { CopyButton } from "../../shared/copy";
import { bytes } from "../../shared/format";
import { Markdown } from "../../shared/markdown";
import { toastError } from "../../shared/toast";
import type { Message } from "../../wire";
import { type Doing, describeDoing, doingOf, doTo } from "./doing";
import { JourneyView } from "./journey-view";
import { learnMessage } from "./mail";
import { nameOf, To } from "./names";
import { KindBadge, StateLabel } from "./state";
import { agentCalled, CMUX, inWords, USER } from "./threads";

type Props = { message: Message; isNewest: boolean };

export function Letter({ message, isNewest }: Props) {
  return (
    <article
      id={message.id}
      tabIndex={-1}
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
          <CopyButton what="the message" text={() => wholeOf(message)} className="-my-1 -mr-2" />
        </span>
      </header>
      <Body message={message} />
      {message.from === CMUX && message.reply_to !== null && <About id={message.reply_to} />}
      <footer className="flex flex-wrap items-start justify-between gap-x-3 gap-y-1">
        <JourneyView message={message} isNewest={isNewest} />
        <Doings message={message} />
      </footer>
    </article>
  );
}

/** Returns all that a message says. */
async function wholeOf(message: Message): Promise<string> {
  return message.body_cut ? (await showMessage(message.id)).body : message.body;
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

/** A way to the message that cmux tells of, further up in the same conversation. */
function About({ id }: { id: string }) {
  const show = () => {
    const letter = document.getElementById(id);
    letter?.scrollIntoView({ block: "center" });
    letter?.focus({ preventScroll: true });
  };
  return (
    <Button look="ghost" icon={CornerLeftUp} onClick={show} className="-ml-3 self-start">
      Show that message
    </Button>
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
  const text = inWords(message);
  const isCut = message.body_cut || (isHigh && !isAll);
  return (
    <>
      <div
        ref={box}
        className={classes("min-w-0", isHigh && !isAll && "overflow-hidden")}
        style={isHigh && !isAll ? { maxHeight: HEIGHT_MAX } : undefined}
      >
        <div>
          {text.length > DRAWN_MAX ? (
            <div className="break-words whitespace-pre-wrap">{text}</div>
          ) : (
            <Markdown text={text} />
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

function Doings({ message }: { message: Message }) {
  const client = useQueryClient();
  const act = useMutation({ mutationFn: (what: Doing) => doTo(client, message, what) });
  const doing = doingOf(message.state);
  if (doing === null) return null;
  const { label, icon } = describeDoing(doing);
  return (
    <Button icon={icon} busy={act.isPending} onClick={() => act.mutate(doing)}>
      {label}
    </Button>
  );
}
