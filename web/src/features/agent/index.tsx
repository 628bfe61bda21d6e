/** One agent: its terminal, its conversation, its events and its facts. */

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useAgent } from "../../feed/store";
import { useActions } from "../../shared/actions";
import { Empty } from "../../shared/empty";
import { useShortcuts } from "../../shared/keys";
import { Page } from "../../shared/page";
import { TabPanel, Tabs } from "../../shared/tabs";
import { canTend, describeTending, TENDINGS, tend } from "../../shared/tend";
import type { Agent } from "../../wire";
import { useBeside } from "./beside";
import { ConversationPane } from "./conversation";
import { EventsPane } from "./events";
import { FactsPane } from "./facts";
import { Actions, Back, Doing, Who } from "./head";
import { AGENT_TABS, type AgentTab } from "./search";
import { TerminalPane } from "./terminal";

export function AgentPage() {
  const { agent: id } = useParams({ from: "/agents/$agent" });
  const agent = useAgent(id);
  if (agent === undefined) return <Unknown />;
  return <Known key={agent.id} agent={agent} />;
}

const LABELS: Readonly<Record<AgentTab, string>> = {
  terminal: "Terminal",
  conversation: "Conversation",
  events: "Events",
  facts: "Facts",
};

const TABS = AGENT_TABS.map((value) => ({ value, label: LABELS[value] }));

function Known({ agent }: { agent: Agent }) {
  const { tab = "terminal" } = useSearch({ from: "/agents/$agent" });
  const navigate = useNavigate({ from: "/agents/$agent" });
  const open = (next: AgentTab) =>
    void navigate({ search: (old) => ({ ...old, tab: next }), replace: true });
  useShortcuts(
    TABS.map(({ value, label }, at) => ({
      keys: String(at + 1),
      label,
      group: "This agent",
      run: () => open(value),
    })),
  );
  useTendActions(agent);
  return (
    <Page
      title={agent.name}
      before={<Back agent={agent} />}
      detail={<Who agent={agent} />}
      actions={<Actions agent={agent} />}
      bar={<Doing agent={agent} />}
    >
      <Tabs label="What is shown of it" value={tab} onChange={open} tabs={TABS}>
        <TabPanel value="terminal">
          <TerminalTab agent={agent} />
        </TabPanel>
        <TabPanel value="conversation">
          <ConversationPane agent={agent} />
        </TabPanel>
        <TabPanel value="events">
          <EventsPane agent={agent} />
        </TabPanel>
        <TabPanel value="facts">
          <FactsPane agent={agent} />
        </TabPanel>
      </Tabs>
    </Page>
  );
}

/** The terminal, with the conversation beside it where there is room. */
function TerminalTab({ agent }: { agent: Agent }) {
  const beside = useBeside();
  return (
    <div className="flex min-h-0 min-w-0 flex-1">
      <div className="flex min-w-0 flex-[3]">
        <TerminalPane agent={agent} beside={beside} />
      </div>
      {beside?.isOpen && (
        <div className="flex min-w-0 flex-[2] border-l border-edge">
          <ConversationPane agent={agent} />
        </div>
      )}
    </div>
  );
}

/** Has the palette offer what can be done to this agent, before all else. */
function useTendActions(agent: Agent): void {
  useActions(
    TENDINGS.filter((what) => canTend(agent, what)).map((what) => {
      const { label, icon } = describeTending(what);
      return {
        id: `${what} ${agent.id}`,
        title: `${label} ${agent.name}`,
        group: "This agent",
        icon,
        run: () => void tend(agent, what),
      };
    }),
  );
}

function Unknown() {
  return (
    <Page title="Agent">
      <Empty
        icon={SearchX}
        title="There is no such agent"
        command="cmux agent list"
        action={
          <Link to="/" className="font-medium text-accent underline">
            Go to the fleet
          </Link>
        }
      >
        It may have been forgotten. This lists those that there are:
      </Empty>
    </Page>
  );
}
