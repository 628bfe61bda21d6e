/** What the person was sent: questions first, then what else is unread, then the rest. */

import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { CheckCheck, Inbox } from "lucide-react";
import { useCallback, useMemo, useRef } from "react";
import { openQuestions } from "../../feed/questions";
import { sameItems, useFleet, useUnreadCount } from "../../feed/store";
import { Button } from "../../shared/button";
import { Empty, ErrorNote } from "../../shared/empty";
import { Page } from "../../shared/page";
import { useMail, useMailNews, useThreadsAtHand } from "./mail";
import { readAll } from "./reading-all";
import { Split } from "./split";
import { ThreadView } from "./thread";
import { ThreadList } from "./thread-list";
import { heldIn, inboxLines, merged, type Section, sectionOf, threadsOf, USER } from "./threads";

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
            <ThreadList {...inbox} where="/inbox" open={thread} isOfAll={false} />
          ) : (
            <Empty icon={Inbox} title="Nothing for you yet" command="cmux send user 'It works'">
              Questions and reports of your agents come here. Run this in a project to try it.
            </Empty>
          )
        }
      >
        {thread !== undefined && <ThreadView key={thread} id={thread} onClose={close} />}
      </Split>
    </Page>
  );
}

/** The lines of the inbox. What is opened stays where it was, for as long as the page is open. */
function useInbox(open: string | undefined) {
  const all = useMail({ to: USER });
  // What is unread may be older than what is listed.
  const unread = useMail({ to: USER, unread: true });
  const questions = useFleet(openQuestions, sameItems);
  const isPending = all.isPending || unread.isPending;
  // A question that was read and not answered may be older than both.
  const missing = useMemo(() => {
    const listed = new Set([...all.messages, ...unread.messages].map(({ id }) => id));
    return isPending ? [] : questions.filter(({ id }) => !listed.has(id));
  }, [isPending, all.messages, unread.messages, questions]);
  const asked = useThreadsAtHand(missing.map(({ thread }) => thread));
  const held = useRef(new Map<string, Section>());
  const lines = useMemo(() => {
    const parts = [all.messages, unread.messages, asked];
    const messages = merged(parts.map((messages) => ({ messages, hasMore: false })));
    const threads = threadsOf(messages, new Set(questions.map(({ id }) => id)));
    const opened = threads.find(({ id }) => id === open);
    if (opened !== undefined) {
      held.current.set(opened.id, heldIn(held.current.get(opened.id), sectionOf(opened)));
    }
    return inboxLines(threads, held.current);
  }, [all.messages, unread.messages, asked, questions, open]);
  return {
    lines,
    isPending,
    error: all.data === undefined ? all.error : null,
    retry: () => void all.refetch(),
    isFull: all.isFull,
    hasMore: isPending || all.hasNextPage || unread.hasNextPage,
    isLoading: isPending || all.isFetching || unread.isFetching,
    onMore: useCallback(() => {
      if (unread.hasNextPage) void unread.fetchNextPage();
      if (all.hasNextPage) void all.fetchNextPage();
    }, [all.hasNextPage, all.fetchNextPage, unread.hasNextPage, unread.fetchNextPage]),
  };
}

function ReadAll({ isNeeded }: { isNeeded: boolean }) {
  const reading = useMutation({ mutationFn: readAll });
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
