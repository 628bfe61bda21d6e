/** The turns of an agent: how each ended, and what it took. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { showHistory } from "../../../api/routes";
import { useNews } from "../../../feed/store";
import { Badge } from "../../../shared/badge";
import { Button } from "../../../shared/button";
import { describeTurnEnd } from "../../../shared/describe";
import { Command, ErrorNote, Skeleton } from "../../../shared/empty";
import { count, counted, duration, moment, money } from "../../../shared/format";
import { Section } from "../../../shared/page";
import { Scrolls } from "../../../shared/scrolls";
import type { Agent, History, Turn } from "../../../wire";
import { threadsOf, turnsOf } from "./history";

export function Turns({ agent }: { agent: Agent }) {
  const queries = useQueryClient();
  const queryKey = ["history", agent.id];
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => showHistory(agent.id, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last: History) => last.next,
    staleTime: 0,
  });
  useNews((news) => {
    const isOver =
      news.what === "reset" ||
      (news.what === "events" &&
        news.events.some((event) => event.agent === agent.id && event.kind.startsWith("turn.")));
    if (isOver) void queries.invalidateQueries({ queryKey });
  });
  const pages = query.data?.pages ?? [];
  const turns = turnsOf(pages);
  return (
    <Section title="Turns" detail="What it did for each prompt, newest first.">
      {query.isPending && (
        <div className="p-3">
          <Skeleton className="h-24 w-full" />
        </div>
      )}
      {query.error && (
        <ErrorNote
          error={query.error}
          what="The turns could not be read"
          onRetry={() => void query.refetch()}
        />
      )}
      {query.data && turns.length === 0 && !query.hasNextPage && (
        <p className="p-3 text-quiet">
          None yet. This gives it something to do: <Command text={`cmux send ${agent.name} "…"`} />
        </p>
      )}
      {turns.length > 0 && <Table turns={turns} threads={threadsOf(pages)} />}
      {query.hasNextPage && (
        <div className="flex justify-center border-t border-edge p-1">
          <Button
            look="ghost"
            busy={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Show older ones
          </Button>
        </div>
      )}
    </Section>
  );
}

const CELL = "px-3 py-1.5 whitespace-nowrap";

/** The thread of each message that is known. */
type Threads = ReadonlyMap<string, string>;

function Table({ turns, threads }: { turns: ReadonlyArray<Turn>; threads: Threads }) {
  return (
    <Scrolls as="section" aria-label="Turns" className="overflow-x-auto">
      <table className="w-full text-left">
        <thead className="text-xs text-faint">
          <tr className="border-b border-edge">
            <th className={CELL}>Began</th>
            <th className={CELL}>Ended</th>
            <th className={`${CELL} text-right`}>Took</th>
            <th className={`${CELL} text-right`}>Calls</th>
            <th className={`${CELL} text-right`}>Tokens</th>
            <th className={`${CELL} text-right`}>Cost</th>
            <th className={CELL}>About</th>
          </tr>
        </thead>
        <tbody>
          {turns.map((turn) => (
            <TurnRow key={turn.id} turn={turn} threads={threads} />
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}

function TurnRow({ turn, threads }: { turn: Turn; threads: Threads }) {
  const took =
    turn.ended_at === null ? null : Date.parse(turn.ended_at) - Date.parse(turn.began_at);
  const { cost_usd, tokens } = turn.usage;
  return (
    <tr className="border-b border-edge last:border-b-0">
      <td className={CELL}>{moment(turn.began_at)}</td>
      <td className={CELL}>
        <End turn={turn} />
      </td>
      <td className={`${CELL} text-right`}>{took === null ? "–" : duration(took)}</td>
      <td className={`${CELL} text-right`} title={turn.tools.join(", ")}>
        {turn.calls}
      </td>
      <td className={`${CELL} text-right`}>{tokens === 0 ? "–" : count(tokens)}</td>
      <td className={`${CELL} text-right`}>{cost_usd === null ? "–" : money(cost_usd)}</td>
      <td className={CELL}>
        <About ids={turn.messages} threads={threads} />
      </td>
    </tr>
  );
}

function End({ turn }: { turn: Turn }) {
  if (turn.how === null) return <Badge tone="busy">Under way</Badge>;
  const { label, tone } = describeTurnEnd(turn.how);
  return <Badge tone={tone}>{label}</Badge>;
}

/** The messages that a turn was about. They came together, and the first leads to where they are. */
function About({ ids, threads }: { ids: ReadonlyArray<string>; threads: Threads }) {
  const [first] = ids;
  if (first === undefined) return <span className="text-faint">Not from cmux</span>;
  return (
    <Link
      to="/messages"
      search={{ thread: threads.get(first) ?? first }}
      className="text-accent hover:underline"
    >
      {counted(ids.length, "message")}
    </Link>
  );
}
