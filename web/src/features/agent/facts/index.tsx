/** All that is known of an agent. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { listKinds } from "../../../api/routes";
import { useAgent, useFleet } from "../../../feed/store";
import { Ago } from "../../../shared/age";
import { describeIntent } from "../../../shared/describe";
import { Fact } from "../../../shared/facts";
import { count, counted, moment, money } from "../../../shared/format";
import { Column, Section } from "../../../shared/page";
import type { Agent, Usage } from "../../../wire";
import { Turns } from "./turns";
import { WhySection } from "./why";

export function FactsPane({ agent }: { agent: Agent }) {
  return (
    <Column>
      <WhySection agent={agent} />
      <Section title="Facts">
        <dl>
          <Standing agent={agent} />
          <Life agent={agent} />
        </dl>
      </Section>
      <Section title="Used in all">
        <UsedFacts usage={agent.usage} />
      </Section>
      <Turns agent={agent} />
    </Column>
  );
}

function Standing({ agent }: { agent: Agent }) {
  const project = useFleet((state) => state.projects.get(agent.project));
  const parent = useAgent(agent.parent);
  return (
    <>
      <Fact name="Id" copied={agent.id} isCode />
      <Fact name="Project">
        <Link
          to="/projects/$project"
          params={{ project: agent.project }}
          className="text-accent hover:underline"
        >
          {project?.name ?? agent.project}
        </Link>
      </Fact>
      <Fact name="Kind">
        {agent.kind}
        <KindVersion kind={agent.kind} />
      </Fact>
      <Fact name="Role">{agent.role}</Fact>
      {parent && (
        <Fact name="Launched by">
          <Link
            to="/agents/$agent"
            params={{ agent: parent.id }}
            className="text-accent hover:underline"
          >
            {parent.name}
          </Link>
        </Fact>
      )}
      <Fact name="Wanted">
        {describeIntent(agent.intent)}
        {agent.permanent && ", also when its task is done"}
      </Fact>
      <Fact name="Works in" copied={agent.cwd} isCode />
    </>
  );
}

function Life({ agent }: { agent: Agent }) {
  const pid = agent.pid === null ? null : String(agent.pid);
  return (
    <>
      <Fact name="Process" copied={pid} isCode />
      <Fact name="Pane" copied={agent.pane} isCode />
      <Fact name="Run" copied={agent.run} isCode />
      <Fact name="Session" copied={agent.session_id} isCode />
      <Fact name="Started">
        {agent.started_at === null ? (
          "–"
        ) : (
          <>
            {moment(agent.started_at)} (<Ago at={agent.started_at} />)
          </>
        )}
      </Fact>
    </>
  );
}

function KindVersion({ kind }: { kind: string }) {
  const { data } = useQuery({
    queryKey: ["kinds"],
    queryFn: ({ signal }) => listKinds(signal),
  });
  const found = data?.kinds.find(({ name }) => name === kind);
  if (!found) return null;
  const tested = found.tested === null ? "" : `, tested with ${found.tested}`;
  return (
    <span className="text-quiet">
      {" "}
      · {found.title}
      {found.version === null ? "" : ` ${found.version}`}
      {tested}
    </span>
  );
}

function UsedFacts({ usage }: { usage: Usage }) {
  if (usage.tokens === 0) return <p className="p-3 text-quiet">Nothing yet.</p>;
  const rows: ReadonlyArray<[string, string]> = [
    ["Tokens", count(usage.tokens)],
    ["Read", count(usage.input_tokens)],
    ["Written", count(usage.output_tokens)],
    ["Kept, read again", count(usage.cache_read_tokens)],
    ["Read and kept", count(usage.cache_write_tokens)],
    ["Cost", usage.cost_usd === null ? "Not known" : money(usage.cost_usd)],
  ];
  return (
    <>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg bg-edge rail:grid-cols-3">
        {rows.map(([name, value]) => (
          <div key={name} className="bg-panel px-3 py-2">
            <dt className="text-xs text-quiet">{name}</dt>
            <dd className="text-lg font-medium">{value}</dd>
          </div>
        ))}
      </dl>
      {usage.unpriced_tokens > 0 && (
        <p className="border-t border-edge px-3 py-2 text-quiet">
          The price of {counted(usage.unpriced_tokens, "token")} is not known, and not in the cost.
        </p>
      )}
    </>
  );
}
