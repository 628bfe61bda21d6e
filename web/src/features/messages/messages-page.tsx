/** All mail by conversation, with the one that is open beside the list. */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { MailPlus, MessagesSquare, SearchX } from "lucide-react";
import { useCallback, useMemo } from "react";
import { Button } from "../../shared/button";
import { describeMessageState } from "../../shared/describe";
import { Empty, ErrorNote } from "../../shared/empty";
import { FilterBar } from "../../shared/filter-bar";
import { Page } from "../../shared/page";
import { useWhose } from "../../shared/whose";
import { Composer } from "./composer";
import { useMail, useMailNews } from "./mail";
import { MESSAGE_STATES } from "./pages";
import type { MessagesSearch } from "./search";
import { Split } from "./split";
import { ThreadView } from "./thread";
import { ThreadList } from "./thread-list";
import { type Line, merged, threadsOf } from "./threads";

export function MessagesPage() {
  useMailNews();
  const search = useSearch({ from: "/messages" });
  const navigate = useNavigate({ from: "/messages" });
  const set = useCallback(
    (change: MessagesSearch, replace = false) =>
      void navigate({ search: (old) => ({ ...old, ...change }), replace, resetScroll: false }),
    [navigate],
  );
  const close = useCallback(() => set({ thread: undefined }), [set]);
  const { thread } = search;
  const threads = useThreads(search);
  return (
    <Page
      title="Messages"
      actions={
        <Button
          look="primary"
          icon={MailPlus}
          aria-label="Write a message"
          onClick={() => set({ compose: "new" })}
        >
          <span className="hidden rail:inline">Write</span>
        </Button>
      }
      bar={
        <Filters
          search={search}
          isHidden={thread !== undefined}
          onChange={(next) => set(next, true)}
        />
      }
    >
      <Split
        isOpen={thread !== undefined}
        list={
          threads.error !== null ? (
            <ErrorNote error={threads.error} what="Mail cannot be shown" onRetry={threads.retry} />
          ) : threads.lines.length > 0 || threads.isPending ? (
            <ThreadList
              {...threads}
              where="/messages"
              open={thread}
              isOfAll={!isFiltered(search)}
            />
          ) : (
            <Nothing search={search} onWrite={() => set({ compose: "new" })} />
          )
        }
      >
        {thread !== undefined && <ThreadView key={thread} id={thread} onClose={close} />}
      </Split>
      <Composer
        compose={search.compose}
        onClose={() => set({ compose: undefined }, true)}
        onSent={(message) => set({ compose: undefined, thread: message.thread }, true)}
      />
    </Page>
  );
}

/** Returns whether some mail is left out. */
function isFiltered({ agent, state, project }: MessagesSearch): boolean {
  return agent !== undefined || state !== undefined || project !== undefined;
}

/** The conversations that the filters leave. Those of an agent are to it or from it. */
function useThreads({ agent, state, project }: MessagesSearch) {
  const to = useMail({ to: agent, state, project });
  const from = useMail({ from: agent, state, project }, agent !== undefined);
  const both = agent === undefined ? [to] : [to, from];
  const isPending = both.some((mail) => mail.isPending);
  const lines = useMemo((): Line[] => {
    const first = { messages: to.messages, hasMore: to.hasNextPage };
    const second = { messages: from.messages, hasMore: from.hasNextPage };
    const messages = merged(agent === undefined ? [first] : [first, second]);
    return threadsOf(messages).map((thread) => ({ what: "thread", key: thread.id, thread }));
  }, [agent, to.messages, to.hasNextPage, from.messages, from.hasNextPage]);
  return {
    lines,
    isPending,
    error: both.find((mail) => mail.isError && mail.data === undefined)?.error ?? null,
    retry: () => {
      for (const mail of both) void mail.refetch();
    },
    isFull: both.some((mail) => mail.isFull),
    hasMore: isPending || both.some((mail) => mail.hasNextPage),
    isLoading: isPending || both.some((mail) => mail.isFetching),
    onMore: useCallback(() => {
      if (to.hasNextPage) void to.fetchNextPage();
      if (from.hasNextPage) void from.fetchNextPage();
    }, [to.hasNextPage, to.fetchNextPage, from.hasNextPage, from.fetchNextPage]),
  };
}

type FiltersProps = {
  search: MessagesSearch;
  isHidden: boolean;
  onChange: (change: MessagesSearch) => void;
};

function Filters({ search, isHidden, onChange }: FiltersProps) {
  const whose = useWhose(search, onChange);
  return (
    <FilterBar
      isHiddenWhenNarrow={isHidden}
      filters={[
        ...whose,
        {
          label: "State",
          all: "All states",
          value: search.state,
          options: MESSAGE_STATES.map((state) => ({
            value: state,
            label: describeMessageState(state).label,
          })),
          onChange: (state) => onChange({ state: MESSAGE_STATES.find((one) => one === state) }),
        },
      ]}
      onClear={() => onChange({ project: undefined, agent: undefined, state: undefined })}
    />
  );
}

function Nothing({ search, onWrite }: { search: MessagesSearch; onWrite: () => void }) {
  if (isFiltered(search)) {
    return (
      <Empty icon={SearchX} title="No mail fits these filters">
        Clear one of them to see more.
      </Empty>
    );
  }
  return (
    <Empty
      icon={MessagesSquare}
      title="No mail yet"
      command="cmux send supervisor 'What is left to do?'"
      action={
        <Button look="primary" icon={MailPlus} onClick={onWrite}>
          Write a message
        </Button>
      }
    >
      What you, your agents and your scripts write to one another is here. Write something, or run
      this in a project.
    </Empty>
  );
}
