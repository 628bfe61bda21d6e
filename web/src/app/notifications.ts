/** Calls the person when they are needed: in the tab's title, and by the browser if they have asked for it. */

import { type Need, needs } from "../feed/needs";
import { getFleet, onFleet } from "../feed/store";
import { describeWait } from "../shared/describe";
import { go } from "../shared/go";
import { noteBroken, wantsNotifications } from "../shared/notify";
import { setTitleCount } from "../shared/title";

/** What was known to be needed already; nothing before the first look. */
let known: ReadonlySet<string> | null = null;

/** Follows what a person is needed for, for as long as the page is open. */
export function followNeeds(): void {
  onFleet(() => {
    const state = getFleet();
    if (state === null) return;
    const found = needs(state);
    setTitleCount(found.length);
    const before = known;
    known = new Set(found.map(({ key }) => key));
    // What was there when the page was opened is on it.
    if (before === null) return;
    for (const need of found) if (!before.has(need.key) && isNews(need)) call(need);
  });
}

/** Returns whether it has just come about: questions from before are found a little after the page was opened. */
function isNews(need: Need): boolean {
  return need.what !== "question" || need.letter.isNews;
}

function call(need: Need): void {
  if (!wantsNotifications() || document.hasFocus()) return;
  const notification = notificationOf(need);
  if (notification === null) return;
  notification.onclick = () => {
    window.focus();
    notification.close();
    open(need);
  };
}

/** Returns a notification, which is shown by being made; nothing in a browser that makes none for a page. */
function notificationOf(need: Need): Notification | null {
  const { title, body } = inWords(need);
  try {
    return new Notification(title, { body, tag: need.key, icon: "/icon.svg" });
  } catch {
    noteBroken();
    return null;
  }
}

function inWords(need: Need): { title: string; body: string } {
  switch (need.what) {
    case "asking":
      return { title: `${need.agent.name} needs you`, body: describeWait(need.agent) };
    case "failed":
      return { title: `${need.agent.name} has failed`, body: describeWait(need.agent) };
    case "question":
      return { title: `${need.letter.from} asks you something`, body: "It is in your inbox." };
  }
}

function open(need: Need): void {
  switch (need.what) {
    case "asking":
    case "failed":
      go({ to: "/agents/$agent", params: { agent: need.agent.id }, search: { tab: "terminal" } });
      return;
    case "question":
      go({ to: "/inbox", search: { thread: need.letter.thread } });
      return;
  }
}
