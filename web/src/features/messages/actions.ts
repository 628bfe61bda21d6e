/** What the palette offers of mail on every page: to write to anybody, and to take all as read. */

import { CheckCheck, MailPlus } from "lucide-react";
import { unreadCount } from "../../feed/state";
import { getFleet } from "../../feed/store";
import type { Action } from "../../shared/actions";
import { go } from "../../shared/go";
import { readAll } from "./reading-all";
import { recipientsOf } from "./recipients";

/** Opens the composer. What is open and filtered on the page of all mail stays as it is. */
function compose(to: string): void {
  if (location.pathname !== "/messages") go({ to: "/messages", search: { compose: to } });
  else go({ to: "/messages", search: (old) => ({ ...old, compose: to }), resetScroll: false });
}

export function messageActions(): Action[] {
  return [...writing(), ...reading()];
}

function writing(): Action[] {
  const write: Action = {
    id: "write",
    title: "Write a message",
    group: "Mail",
    keywords: ["send", "compose", "new"],
    keys: "c",
    icon: MailPlus,
    run: () => compose("new"),
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
        run: () => compose(agent.id),
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

function reading(): Action[] {
  const fleet = getFleet();
  if (fleet === null || unreadCount(fleet) === 0) return [];
  return [
    {
      id: "read all",
      title: "Mark all mail as read",
      group: "Mail",
      keywords: ["inbox", "unread"],
      icon: CheckCheck,
      run: () => void readAll(),
    },
  ];
}
