/** One conversation: its messages, the oldest first, and the box to answer in. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ArrowLeft, CornerUpLeft, MessagesSquare } from "lucide-react";
import { useEffect, useRef } from "react";
import { showMessage } from "../../api/routes";
import { type Action, useActions } from "../../shared/actions";
import { Button, IconButton } from "../../shared/button";
import { Empty, ErrorNote, Skeleton } from "../../shared/empty";
import { useFollowEnd } from "../../shared/follow-end";
import { useShortcuts } from "../../shared/keys";
import { ToNewest } from "../../shared/to-newest";
import type { Message } from "../../wire";
import { describeDoing, doingOf, doTo } from "./doing";
import { Letter } from "./letter";
import { useMail } from "./mail";
import { useReading } from "./reading";
import { Reply } from "./reply";
import { ProjectName } from "./thread-list";
import { firstLine, inWords, newestFirst } from "./threads";

type Props = {
  id: string;
  onClose: () => void;
};

const PAGE = 50;

/** Of how many messages, the newest, the palette offers what can be done about them. */
const OFFERED_MAX = 10;

export function ThreadView({ id, onClose }: Props) {
  const mail = useMail({ thread: id, limit: PAGE });
  const { messages } = mail;
  const client = useQueryClient();
  const field = useRef<HTMLTextAreaElement>(null);
  useShortcuts([
    { keys: "r", label: "Answer", group: "Mail", run: () => field.current?.focus() },
    { keys: "escape", label: "Close the conversation", group: "Mail", run: onClose },
  ]);
  useActions([
    {
      id: "answer",
      title: "Answer this conversation",
      group: "Mail",
      keywords: ["reply"],
      keys: "r",
      icon: CornerUpLeft,
      // The palette gives the focus back first.
      run: () => setTimeout(() => field.current?.focus()),
    },
    ...messages.slice(0, OFFERED_MAX).flatMap((message): Action[] => {
      const doing = doingOf(message.state);
      if (doing === null) return [];
      const { label, icon } = describeDoing(doing);
      return [
        {
          id: `${doing} ${message.id}`,
          title: `${label}: ${firstLine(message.body)}`,
          group: "Mail",
          icon,
          run: () => void doTo(client, message, doing),
        },
      ];
    }),
  ]);
  useReading(messages);
  useMember(id, mail.isSuccess && !mail.isFetching && messages.length === 0);
  if (mail.isLoadingError && messages.length === 0) {
    const what = "This conversation cannot be shown";
    return <ErrorNote error={mail.error} what={what} onRetry={() => void mail.refetch()} />;
  }
  const first = messages.at(-1);
  return (
    <section aria-label="Conversation" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex min-h-11 shrink-0 items-center gap-2 border-b border-edge px-2 rail:px-4">
        <IconButton icon={ArrowLeft} label="Close the conversation" onClick={onClose} />
        {first === undefined ? (
          <Skeleton className="h-4 w-48" />
        ) : (
          <>
            <h2 className="min-w-0 flex-1 truncate font-semibold">{firstLine(inWords(first))}</h2>
            <ProjectName id={first.project} />
          </>
        )}
      </header>
      {mail.isPending ? (
        <ThreadSkeleton />
      ) : messages.length === 0 ? (
        <div className="flex-1">
          <Empty icon={MessagesSquare} title="There is no such conversation">
            It may be older than 90 days. Nothing is kept longer than that.
          </Empty>
        </div>
      ) : (
        <Letters
          messages={messages}
          hasMore={mail.hasNextPage}
          isFull={mail.isFull}
          isLoading={mail.isFetchingNextPage}
          onMore={() => void mail.fetchNextPage()}
        />
      )}
      {messages.length > 0 && <Reply key={id} thread={id} messages={messages} field={field} />}
    </section>
  );
}

/** Goes to the conversation of a message, if what was asked for is one and did not begin any. */
function useMember(id: string, isWanted: boolean): void {
  const navigate = useNavigate();
  const { data } = useQuery({
    queryKey: ["mail", "member", id],
    queryFn: ({ signal }) => showMessage(id, signal),
    enabled: isWanted,
    retry: false,
  });
  const thread = data?.thread;
  useEffect(() => {
    if (thread === undefined || thread === id) return;
    void navigate({ to: ".", search: (old) => ({ ...old, thread }), replace: true });
  }, [thread, id, navigate]);
}

type LettersProps = {
  messages: ReadonlyArray<Message>;
  hasMore: boolean;
  isFull: boolean;
  isLoading: boolean;
  onMore: () => void;
};

/** The messages. What is new is in sight, unless the person has scrolled away from the end. */
function Letters({ messages, hasMore, isFull, isLoading, onMore }: LettersProps) {
  const sorted = [...messages].sort(newestFirst).reverse();
  const following = useFollowEnd<HTMLOListElement>(sorted[0]?.id, () => {});
  const { scroller, content, onScroll } = following;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
        <ol ref={content} className="mx-auto flex max-w-4xl flex-col gap-3 px-3 py-3 rail:px-4">
          {isFull && (
            <li className="self-center text-xs text-faint">Only the newest messages are shown.</li>
          )}
          {hasMore && (
            <li className="self-center">
              <Button busy={isLoading} onClick={onMore}>
                Show earlier messages
              </Button>
            </li>
          )}
          {sorted.map((message, at) => (
            <li key={message.id}>
              <Letter message={message} isNewest={at === sorted.length - 1} />
            </li>
          ))}
        </ol>
      </div>
      <ToNewest following={following} />
    </div>
  );
}

function ThreadSkeleton() {
  return (
    <div aria-hidden className="flex flex-1 flex-col gap-3 px-4 py-3">
      <Skeleton className="h-28 w-full" />
      <Skeleton className="h-28 w-full" />
    </div>
  );
}
