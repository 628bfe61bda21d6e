/** What the palette offers of mail on every page: to write to anybody. */

import { MailPlus } from "lucide-react";
import { getFleet } from "../../feed/store";
import type { Action } from "../../shared/actions";
import { go } from "../../shared/go";
import { recipientsOf } from "./recipients";

export function messageActions(): Action[] {
  const write: Action = {
    id: "write",
    title: "Write a message",
    group: "Mail",
    keywords: ["send", "compose", "new"],
    keys: "c",
    icon: MailPlus,
    run: () => go({ to: "/messages", search: { compose: "new" } }),
  };
  const fleet = getFleet();
  if (fleet === null || fleet.agents.size === 0) return [write];
  const more = () =>
    recipientsOf({ agents: fleet.agents.values(), projects: fleet.projects }).map(
      ({ agent, project, address }): Action => ({
        id: `write ${agent.id}`,
        title: address,
        group: "Write to whom?",
        keywords: [agent.role, agent.kind, project],
        icon: MailPlus,
        run: () => go({ to: "/messages", search: { compose: agent.id } }),
      }),
    );
  const to: Action = {
    id: "write to",
    title: "Write to an agent…",
    group: "Mail",
    keywords: ["send", "message"],
    icon: MailPlus,
    run: () => {},
    more,
  };
  return [write, to];
}
