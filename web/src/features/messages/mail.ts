/** Mail as the daemon tells it, kept up to date by the log. Nothing is asked for by the clock. */

import {
  type QueryClient,
  useInfiniteQuery,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { ProblemError } from "../../api/request";
import { listEvents, listMessages, type MessagesWanted, showMessage } from "../../api/routes";
import { useOnLive } from "../../feed/live";
import { refetching } from "../../feed/refetch";
import { getFleet, onNews, useNews } from "../../feed/store";
import type { Event, Message } from "../../wire";
import {
  applied,
  brief,
  type Change,
  changed,
  holds,
  isOver,
  listed,
  messageOf,
  mostOf,
  type Pages,
  stateTold,
  toWhom,
} from "./pages";
import { agentCalled, newestFirst, USER } from "./threads";

const LISTS = ["mail", "list"] as const;
const JOURNEYS = ["mail", "journey"] as const;

/** How many changes are remembered for answers that are still on their way. */
const RECENT_MAX = 500;

/** Changes as they came, so that an answer which is older than they are does not undo them. */
const recent: Change[] = [];
let recentFrom = 0;

function remember(change: Change): void {
  recent.push(change);
  if (recent.length <= RECENT_MAX) return;
  recentFrom += recent.length - RECENT_MAX;
  recent.splice(0, recent.length - RECENT_MAX);
}

/** Returns where in the stream of changes it is now, and what came after that. */
const now = () => recentFrom + recent.length;
const after = (mark: number) => recent.slice(Math.max(0, mark - recentFrom));

onNews((news) => {
  if (news.what !== "events") return;
  for (const event of news.events) {
    if (messageOf(event) !== null) remember({ what: "event", event });
  }
});

const agentOf = (id: string) => getFleet()?.agents.get(id);

/** Returns messages, the newest first, a page at a time. */
export function useMail(wanted: MessagesWanted, isWanted = true) {
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: [...LISTS, wanted],
    queryFn: async ({ pageParam, signal }) => {
      const mark = now();
      const told = await listMessages({ ...wanted, cursor: pageParam }, signal);
      const page = { ...told, messages: told.messages.map((one) => brief(one, wanted)) };
      const asked: Pages = { pages: [page], pageParams: [pageParam] };
      // What is new belongs to the first page alone.
      const news = after(mark).filter(({ what }) => what === "event" || pageParam === null);
      const then = news.reduce((pages, change) => applied(pages, change, wanted, agentOf), asked);
      return then.pages[0] ?? page;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    enabled: isWanted,
    placeholderData: () => atHand(client, wanted.thread),
    staleTime: Number.POSITIVE_INFINITY,
    // The log was not listened to while nobody looked.
    refetchOnMount: "always",
  });
  const { data, isError } = query;
  const { thread } = wanted;
  const messages = useMemo(() => {
    // What is known of it is better than nothing.
    const shown = data ?? (isError ? atHand(client, thread) : undefined);
    return shown?.pages.flatMap((page) => page.messages) ?? [];
  }, [data, isError, client, thread]);
  const isFull = messages.length >= mostOf(wanted);
  return { ...query, messages, isFull, hasNextPage: query.hasNextPage && !isFull };
}

/** How many conversations are had at hand at most, and how much of each. */
const AT_HAND_MAX = 50;
const AT_HAND_LIMIT = 20;

/** Returns what the person was sent last in some conversations, which may be in no list that is shown. */
export function useThreadsAtHand(threads: ReadonlyArray<string>): Message[] {
  const wanted = [...new Set(threads)].slice(-AT_HAND_MAX);
  return useQueries({
    queries: wanted.map((thread) => ({
      queryKey: [...LISTS, { thread, to: USER, limit: AT_HAND_LIMIT }],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Pages> => {
        const page = await listMessages({ thread, to: USER, limit: AT_HAND_LIMIT }, signal);
        return { pages: [page], pageParams: [null] };
      },
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnMount: "always" as const,
    })),
    combine: joined,
  });
}

function joined(lists: ReadonlyArray<{ data: Pages | undefined }>): Message[] {
  return lists.flatMap(({ data }) => data?.pages.flatMap(({ messages }) => messages) ?? []);
}

/** Returns what is known of a conversation from other lists, so that it is there as soon as it is opened. */
function atHand(client: QueryClient, thread: string | undefined): Pages | undefined {
  if (thread === undefined) return undefined;
  const messages = [...known(client).values()].filter((message) => message.thread === thread);
  if (messages.length === 0) return undefined;
  return { pages: [{ messages: messages.sort(newestFirst), next: null }], pageParams: [null] };
}

/** The log of one message, and whether it is all of it. */
export type Told = { events: Event[]; isWhole: boolean };

/** Returns what the log tells of a message. */
export function useJourneyEvents(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: [...JOURNEYS, id],
    queryFn: async ({ signal }): Promise<Told> => {
      const mark = now();
      const told = await askJourney(id, signal);
      const news = after(mark).flatMap((change) => (change.what === "event" ? [change.event] : []));
      return news.filter((event) => messageOf(event) === id).reduce(withEvent, told);
    },
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
  });
}

async function askJourney(id: string, signal: AbortSignal): Promise<Told> {
  try {
    const { events } = await listEvents({ subject: `message:${id}`, limit: 200 }, signal);
    return { events, isWhole: true };
  } catch (error) {
    // A daemon that does not look for subjects refuses to. The message itself tells where it is.
    if (error instanceof ProblemError && error.status === 400)
      return { events: [], isWhole: false };
    throw error;
  }
}

function withEvent(told: Told, event: Event): Told {
  if (event.id <= (told.events.at(-1)?.id ?? 0)) return told;
  return { ...told, events: [...told.events, event] };
}

/** Puts changes into every list that is at hand. */
function put(client: QueryClient, changes: ReadonlyArray<Change>): void {
  for (const query of client.getQueryCache().findAll({ queryKey: LISTS })) {
    const wanted = query.queryKey[LISTS.length] as MessagesWanted;
    client.setQueryData<Pages>(
      query.queryKey,
      (pages) =>
        pages && changes.reduce((list, change) => applied(list, change, wanted, agentOf), pages),
    );
  }
}

/** Shows a message as the daemon has just answered it. */
export function learnMessage(client: QueryClient, message: Message): void {
  const change: Change = { what: "message", message };
  remember(change);
  put(client, [change]);
}

/** Returns all messages that are at hand, each once. */
function known(client: QueryClient): Map<string, Message> {
  const found = new Map<string, Message>();
  for (const [, pages] of client.getQueriesData<Pages>({ queryKey: LISTS })) {
    for (const page of pages?.pages ?? []) {
      for (const message of page.messages) found.set(message.id, message);
    }
  }
  return found;
}

/** Keeps all mail up to date for as long as a page of it is open. */
export function useMailNews(): void {
  const client = useQueryClient();
  const refetch = useMemo(() => refetching((id) => lookAgain(client, id)), [client]);
  useEffect(() => () => refetch.clear(), [refetch]);
  useOnLive(refetch.again);
  useNews((news) => {
    switch (news.what) {
      case "events":
        hear(client, news.events, (id) => refetch.want(id));
        return;
      case "reset":
        void client.resetQueries({ queryKey: ["mail"] });
        return;
    }
  });
}

/** What an event is called after which mail may wait for something else. */
const HOLDING: ReadonlySet<string> = new Set(["agent.phase", "agent.asked", "agent.held"]);

function hear(client: QueryClient, events: ReadonlyArray<Event>, want: (id: string) => void): void {
  const ours = events.filter((event) => messageOf(event) !== null);
  const phases = events.filter(({ kind }) => HOLDING.has(kind));
  if (ours.length === 0 && phases.length === 0) return;
  put(
    client,
    ours.map((event) => ({ what: "event", event })),
  );
  for (const event of ours) {
    const id = messageOf(event);
    if (id === null) continue;
    client.setQueryData<Told>([...JOURNEYS, id], (told) => told && withEvent(told, event));
    if (isMissed(client, event, id)) want(id);
  }
  for (const id of waitingFor(client, phases)) want(id);
}

/** Returns whether there is more to know of a message after an event: the log does not tell what it says. */
function isMissed(client: QueryClient, event: Event, id: string): boolean {
  const state = stateTold(event.kind);
  if (state === null) return false;
  // It is new, or waits again; what is to the person never waits.
  if (state === "queued" || (state === "delivered" && toWhom(event) === USER)) return true;
  // A list of what is in this state has it from now on.
  return client
    .getQueryCache()
    .findAll({ queryKey: LISTS, type: "active" })
    .filter(({ queryKey }) => (queryKey[LISTS.length] as MessagesWanted).state === state)
    .some(({ queryKey }) => {
      const pages = client.getQueryData<Pages>(queryKey);
      return pages !== undefined && !holds(pages, id);
    });
}

/** Returns what waits for the agents of these events: what it waits for may be another thing now. */
function waitingFor(client: QueryClient, events: ReadonlyArray<Event>): string[] {
  const agents = [...new Set(events.map(({ agent }) => agent))].flatMap((id) => {
    const agent = id === null ? undefined : agentOf(id);
    return agent === undefined ? [] : [agent];
  });
  if (agents.length === 0) return [];
  return [...known(client).values()]
    .filter(({ state }) => !isOver(state))
    .filter(({ to, project }) => agentCalled(agents, to, project) !== undefined)
    .map(({ id }) => id);
}

async function lookAgain(client: QueryClient, id: string): Promise<void> {
  const mark = now();
  const answered = await showMessage(id);
  const news = after(mark).flatMap((change) => (change.what === "event" ? [change.event] : []));
  const message = news.filter((event) => messageOf(event) === id).reduce(changed, answered);
  learnMessage(client, listed(message));
}
