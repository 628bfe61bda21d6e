/** Says to a person what the wire says in a word. A word that is not said here does not compile. */

import type {
  Agent,
  Condition,
  Intent,
  MessageKind,
  MessageState,
  Phase,
  SessionHow,
  TurnEnd,
} from "../wire";

/** How something is coloured. Colour never says it alone. */
export type Tone = "idle" | "busy" | "asking" | "limited" | "failed" | "off" | "plain";

export type Said = { label: string; tone: Tone };

/** Says a phase. */
export function describePhase(phase: Phase): Said {
  switch (phase) {
    case "offline":
      return { label: "Offline", tone: "off" };
    case "starting":
      return { label: "Starting", tone: "off" };
    case "idle":
      return { label: "Idle", tone: "idle" };
    case "busy":
      return { label: "Busy", tone: "busy" };
    case "asking":
      return { label: "Needs you", tone: "asking" };
    case "limited":
      return { label: "Limited", tone: "limited" };
    case "down":
      return { label: "Down", tone: "failed" };
    case "failed":
      return { label: "Failed", tone: "failed" };
  }
}

/** What is said alone even of one that is paused: a person should know it first. */
const ALONE: ReadonlySet<Phase> = new Set(["asking", "limited", "down", "failed"]);

/** Says the phase of an agent, with the pause or the stop that people want of it. */
export function describeStanding({ phase, intent }: Pick<Agent, "phase" | "intent">): string {
  const { label } = describePhase(phase);
  const word = intent === "stop" && phase === "offline" ? "Stopped" : label;
  return intent === "pause" && !ALONE.has(phase) ? `Paused · ${word.toLowerCase()}` : word;
}

/** Says what people want of an agent. */
export function describeIntent(intent: Intent): string {
  switch (intent) {
    case "run":
      return "Kept running";
    case "pause":
      return "Paused";
    case "stop":
      return "Stopped";
  }
}

/** What is on the screen of an agent that asks, by the rule that knew it. */
const QUESTIONS: Readonly<Record<string, string>> = {
  permission: "Wants a permission: answer in its terminal",
  question: "Has a question: answer in its terminal",
};

/** Says why an agent is asked about, as the end of "Why it …". */
export function describeBeing(phase: Phase): string {
  return phase === "asking" ? "needs you" : `is ${describePhase(phase).label.toLowerCase()}`;
}

/** Returns what others say as the beginning of a line. */
function sentence(said: string): string {
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/** Says what an agent waits for, or what it does if it waits for nothing. */
export function describeWait(agent: Agent): string {
  const { reason } = agent;
  if (agent.phase === "asking" && reason !== null && reason in QUESTIONS)
    return QUESTIONS[reason] as string;
  // How it ended is no news of one that was told to.
  const isOut = agent.intent === "stop" && agent.phase === "offline";
  if (reason !== null && reason !== "" && !isOut) return sentence(reason);
  if (agent.intent === "pause") return "Paused: no mail until it is resumed";
  switch (agent.phase) {
    case "offline":
      return agent.intent === "stop" ? "Waits to be resumed" : "About to start";
    case "starting":
      return "Waits for its program to be ready";
    case "idle":
      return agent.queue > 0 ? "About to read its mail" : "Waits for a message";
    case "busy":
      return "Works on a prompt";
    case "asking":
      return "A question is on its screen";
    case "limited":
      return "Waits until its provider's limit is over";
    case "down":
      return "Ended by itself, and is started again";
    case "failed":
      return "Ended too often, and is left alone until you resume it";
  }
}

/** Says how far a message has come. */
export function describeMessageState(state: MessageState): Said {
  switch (state) {
    case "queued":
      return { label: "Queued", tone: "off" };
    case "typing":
      return { label: "Typing", tone: "busy" };
    case "submitted":
      return { label: "Submitted", tone: "busy" };
    case "claimed":
      return { label: "Claimed", tone: "busy" };
    case "delivered":
      return { label: "Delivered", tone: "idle" };
    case "failed":
      return { label: "Failed", tone: "failed" };
    case "cancelled":
      return { label: "Cancelled", tone: "off" };
    case "expired":
      return { label: "Expired", tone: "failed" };
    case "in_doubt":
      return { label: "In doubt", tone: "asking" };
  }
}

/** Says what a message is. */
export function describeMessageKind(kind: MessageKind): Said {
  switch (kind) {
    case "task":
      return { label: "Task", tone: "busy" };
    case "status":
      return { label: "Status", tone: "plain" };
    case "response":
      return { label: "Answer", tone: "plain" };
    case "question":
      return { label: "Question", tone: "asking" };
    case "error":
      return { label: "Error", tone: "failed" };
    case "user":
      return { label: "From a person", tone: "plain" };
    case "system":
      return { label: "From cmux", tone: "off" };
  }
}

/** Says what a message waits for, which the wire leaves open; another word is said as it is. */
export function describeWaitingFor(word: string): string {
  return WAITS[word] ?? word;
}

const WAITS: Readonly<Record<string, string>> = {
  stopped: "its reader is stopped",
  paused: "its reader is paused",
  starting: "its reader starts",
  busy: "its reader is busy",
  asking: "a question is on its reader's screen",
  limited: "its reader's provider has a limit",
  down: "its reader ended and comes back",
  failed: "its reader ended too often",
  draft: "something is at its reader's prompt that cmux did not type",
  person: "a person types there",
  scrolling: "a person scrolls there",
  deaf: "its reader's pane takes no input",
  behind: "another program is in front of its reader",
  screen: "its reader's screen says nothing that is understood",
  earlier: "what was sent before it",
  reading: "nothing: it is being typed",
  tmux: "tmux does not answer",
  disk: "the disk does not take what its reader is to be told",
};

/** Says by what it is known that a message was read, which the wire leaves open; another word is said as it is. */
export function describeEvidence(word: string): string {
  return EVIDENCE[word] ?? word;
}

const EVIDENCE: Readonly<Record<string, string>> = {
  transcript: "its reader's own record of the conversation has it",
  turn: "its reader began a turn with it",
  screen: "it is on its reader's screen, and its reader works",
  answer: "its reader's program answered that it has it",
  stored: "it is in the inbox",
  ledger: "its reader had taken it before the store was lost",
};

/** Says how a turn ended. */
export function describeTurnEnd(end: TurnEnd): Said {
  switch (end) {
    case "done":
      return { label: "Done", tone: "idle" };
    case "failed":
      return { label: "Failed", tone: "failed" };
    case "limited":
      return { label: "Limited", tone: "limited" };
    case "interrupted":
      return { label: "Interrupted", tone: "asking" };
    case "left":
      return { label: "Left", tone: "off" };
    case "died":
      return { label: "Died", tone: "failed" };
  }
}

/** Says whether something does what it is there for. */
export function describeCondition(condition: Condition): Said {
  switch (condition) {
    case "healthy":
      return { label: "Healthy", tone: "idle" };
    case "degraded":
      return { label: "Degraded", tone: "failed" };
  }
}

/** Says by what a browser was let in. */
export function describeSessionHow(how: SessionHow): string {
  switch (how) {
    case "link":
      return "By a link of cmux open";
    case "password":
      return "By password";
  }
}

/** The classes of a tone's text, and of a soft ground for it. */
export const TONE_TEXT: Readonly<Record<Tone, string>> = {
  idle: "text-idle",
  busy: "text-busy",
  asking: "text-asking",
  limited: "text-limited",
  failed: "text-failed",
  off: "text-off",
  plain: "text-ink",
};

export const TONE_SOFT: Readonly<Record<Tone, string>> = {
  idle: "bg-accent-soft text-idle",
  busy: "bg-busy-soft text-busy",
  asking: "bg-asking-soft text-asking",
  limited: "bg-limited-soft text-limited",
  failed: "bg-failed-soft text-failed",
  off: "bg-sunken text-off",
  plain: "bg-sunken text-quiet",
};
