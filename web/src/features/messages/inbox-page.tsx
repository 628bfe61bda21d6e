/** What the person was sent: questions first, then what else is unread, then the rest. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { CheckCheck, Inbox } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { listMessages, readMessage } from "../../api/routes";
import { useUnreadCount } from "../../feed/store";
import { useActions } from "../../shared/actions";
import { Button } from "../../shared/button";
import { Empty, ErrorNote } from "../../shared/empty";
import { counted } from "../../shared/format";
import { Page } from "../../shared/page";
import { toast, toastError } from "../../shared/toast";
import type { Message } from "../../wire";
import { learnMessage, useMail, useMailNews } from "./mail";
import { Split } from "./split";
import { ThreadView } from "./thread";
import { ThreadList } from "./thread-list";
import { inboxLines, isUnread, merged, type Section, sectionOf, threadsOf, USER } from "./threads";

export function InboxPage() {
  useMailNews();
  const { thread } = useSearch({ from: "/inbox" });
  const navigate = useNavigate({ from: "/inbox" });
  const close = useCallback(
    () => void navigate({ search: (old) => ({ ...old, thread: undefined }), resetScroll: false }),
    [navigate],
  );
  const unread = useUnreadCount();
  const inbox = useInbox(thread);
  const read = useReading();
  return (
    <Page
      title="Inbox"
      detail={unread > 0 ? `${unread.toLocaleString("en-US")} unread` : "All read"}
      actions={<ReadAll isNeeded={unread > 0} />}
    >
      <Split
        isOpen={thread !== undefined}
        list={
          inbox.error !== null ? (
            <ErrorNote error={inbox.error} what="Your mail cannot be shown" onRetry={inbox.retry} />
          ) : inbox.lines.length > 0 || inbox.isPending ? (
            <ThreadList {...inbox} where="/inbox" open={thread} />
          ) : (
            <Empty icon={Inbox} title="Nothing for you yet" command="cmux send user 'It works'">
              Questions and reports of your agents come here. Run this in a project to try it.
            </Empty>
          )
        }
      >
        {thread !== undefined && (
          <ThreadView key={thread} id={thread} onClose={close} onShown={read} />
        )}
      </Split>
    </Page>
  );
}

/** The lines of the inbox. What is opened stays where it was, for as long as the page is open. */
function useInbox(open: string | undefined) {
  const all = useMail({ to: USER });
  // What is unread may be older than what is listed.
  const unread = useMail({ to: USER, unread: true });
  const held = useRef(new Map<string, Section>());
  const isPending = all.isPending || unread.isPending;
  const lines = useMemo(() => {
    const both = [all.messages, unread.messages];
    const threads = threadsOf(merged(both.map((messages) => ({ messages, hasMore: false }))));
    const opened = threads.find(({ id }) => id === open);
    if (opened !== undefined && !held.current.has(opened.id)) {
      held.current.set(opened.id, sectionOf(opened));
    }
    return inboxLines(threads, held.current);
  }, [all.messages, unread.messages, open]);
  return {
    lines,
    isPending,
    error: all.data === undefined ? all.error : null,
    retry: () => void all.refetch(),
    hasMore: isPending || all.hasNextPage || unread.hasNextPage,
    isLoading: isPending || all.isFetching || unread.isFetching,
    onMore: useCallback(() => {
      if (unread.hasNextPage) void unread.fetchNextPage();
      if (all.hasNextPage) void all.fetchNextPage();
    }, [all.hasNextPage, all.fetchNextPage, unread.hasNextPage, unread.fetchNextPage]),
  };
}

/** Returns what tells the daemon that messages were read, each once. */
function useReading(): (messages: ReadonlyArray<Message>) => void {
  const client = useQueryClient();
  const [told] = useState(() => new Set<string>());
  const shown = useRef<ReadonlyArray<Message>>([]);
  const read = useCallback(
    (messages: ReadonlyArray<Message>) => {
      shown.current = messages;
      if (document.visibilityState === "hidden") return;
      for (const { id } of messages.filter(
        (message) => isUnread(message) && !told.has(message.id),
      )) {
        told.add(id);
        readMessage(id).then(
          (message) => learnMessage(client, message),
          () => told.delete(id),
        );
      }
    },
    [client, told],
  );
  useEffect(() => {
    // What came while nobody looked is read once somebody does.
    const look = () => read(shown.current);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [read]);
  return read;
}

const AT_ONCE_MAX = 4;

/** Reads all that is unread, and returns how much that was. */
async function readAll(): Promise<number> {
  let count = 0;
  for (;;) {
    const { messages } = await listMessages({ to: USER, unread: true });
    if (messages.length === 0) return count;
    const left = [...messages];
    const work = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await readMessage(next.id);
    };
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
    count += messages.length;
  }
}

function ReadAll({ isNeeded }: { isNeeded: boolean }) {
  const reading = useMutation({
    mutationFn: readAll,
    onSuccess: (count) => toast(`${counted(count, "message")} marked as read`),
    onError: (error) => toastError(error, "Not all is marked as read"),
  });
  useActions([
    {
      id: "read all",
      title: "Mark all mail as read",
      group: "Mail",
      icon: CheckCheck,
      run: () => reading.mutate(),
    },
  ]);
  return (
    <Button
      icon={CheckCheck}
      busy={reading.isPending}
      disabled={!isNeeded}
      onClick={() => reading.mutate()}
    >
      Mark all read
    </Button>
  );
}
