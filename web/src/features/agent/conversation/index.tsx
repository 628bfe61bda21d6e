/** What an agent and its model said to each other. */

import { MessagesSquare } from "lucide-react";
import { useEffect, useMemo } from "react";
import { ProblemError } from "../../../api/request";
import { Button } from "../../../shared/button";
import { Empty, ErrorNote, Skeleton } from "../../../shared/empty";
import { useFollowEnd } from "../../../shared/follow-end";
import { Scrolls } from "../../../shared/scrolls";
import { ToNewest } from "../../../shared/to-newest";
import type { Agent } from "../../../wire";
import { ItemFace } from "./item";
import { itemsOf } from "./items";
import { type Conversing, useConversation } from "./use-conversation";

export function ConversationPane({ agent }: { agent: Agent }) {
  const conversing = useConversation(agent.id, agent.session_id);
  if (!conversing.isKnown) return <Loading />;
  if (conversing.entries.length === 0) return <Nothing agent={agent} conversing={conversing} />;
  return <Talk agent={agent} conversing={conversing} />;
}

type Props = { agent: Agent; conversing: Conversing };

function Talk({ agent, conversing }: Props) {
  const items = useMemo(() => itemsOf(conversing.entries), [conversing.entries]);
  const { older, hasOlder, isFull, isOlderComing, error, follow } = conversing;
  const following = useFollowEnd<HTMLDivElement>(
    items[0]?.id,
    () => hasOlder && !isOlderComing && older(),
  );
  const { isFollowing } = following;
  useEffect(() => follow(isFollowing), [follow, isFollowing]);
  return (
    <div className="relative flex min-h-0 min-w-0 flex-1 flex-col">
      <Scrolls
        as="div"
        ref={following.scroller}
        onScroll={following.onScroll}
        role="log"
        aria-label={`Conversation of ${agent.name}`}
        aria-live="off"
        className="min-h-0 flex-1 overflow-y-auto [overflow-anchor:none] focus-visible:-outline-offset-2"
      >
        <div
          ref={following.content}
          className="mx-auto flex max-w-3xl flex-col gap-2 px-3 py-4 rail:px-5"
        >
          <Older has={hasOlder} isFull={isFull} isComing={isOlderComing} onOlder={older} />
          {items.map((item) => (
            <ItemFace key={item.id} item={item} />
          ))}
          {error !== null && (
            <ErrorNote error={error} what="More could not be read" onRetry={conversing.again} />
          )}
        </div>
      </Scrolls>
      <ToNewest following={following} />
    </div>
  );
}

type OlderProps = { has: boolean; isFull: boolean; isComing: boolean; onOlder: () => void };

function Older({ has, isFull, isComing, onOlder }: OlderProps) {
  if (isFull) {
    return <p className="pb-2 text-center text-xs text-faint">What was before is not kept here.</p>;
  }
  if (!has) return <p className="pb-2 text-center text-xs text-faint">This is where it began.</p>;
  return (
    <Button look="ghost" busy={isComing} onClick={onOlder} className="self-center">
      Show what was before
    </Button>
  );
}

function Nothing({ agent, conversing }: Props) {
  const { error, missing } = conversing;
  if (error instanceof ProblemError && error.status === 404) {
    return (
      <Empty icon={MessagesSquare} title="This cmux does not show conversations">
        It is of another version than this page. The terminal shows what {agent.name} does.
      </Empty>
    );
  }
  if (error !== null) {
    return (
      <ErrorNote
        error={error}
        what="The conversation could not be read"
        onRetry={conversing.again}
      />
    );
  }
  return (
    <Empty
      icon={MessagesSquare}
      title="Nothing was said yet"
      command={`cmux send ${agent.name} "…"`}
    >
      {missing ?? `As soon as ${agent.name} is told something, it is shown here.`}
    </Empty>
  );
}

function Loading() {
  return (
    <div aria-hidden className="mx-auto flex w-full max-w-3xl flex-1 flex-col gap-3 p-5">
      <Skeleton className="h-16 w-full" />
      <Skeleton className="h-8 w-2/3" />
      <Skeleton className="h-8 w-1/2" />
      <Skeleton className="h-24 w-full" />
    </div>
  );
}
