// Written by `cargo xtask types` from cmux-wire. Do not edit.
//
// A number is exact: ids, sizes and counts stay below 2^53.

/** A moment. */
export type Time = string;

/** An AI coding session that cmux keeps alive. */
export type Agent = {
  id: string;
  name: string;
  project: string;
  role: string;
  /** Which program it is. */
  kind: string;
  /** The agent that launched it, if one did. */
  parent: string | null;
  intent: Intent;
  phase: Phase;
  /** Since when it is in that phase. */
  since: Time;
  /** Until when, where that is known: its provider's limit, or the wait before it is started again. */
  until: Time | null;
  /** Why, if there is more to say. */
  reason: string | null;
  /** Whether it is kept when its task is done. */
  permanent: boolean;
  pid: number | null;
  /** Where it is in tmux. */
  pane: string | null;
  /** Its present life, if it has one. */
  run: string | null;
  /** The provider's own name for the conversation. */
  session_id: string | null;
  cwd: string;
  /** When its present life began. */
  started_at: Time | null;
  last_seen_at: Time | null;
  /** How many messages wait for it. */
  queue: number;
  /** What it has used in all. */
  usage: Usage;
};

/** A page of agents. */
export type Agents = {
  agents: Array<Agent>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** What people want of an agent. */
export type Intent = "run" | "pause" | "stop";

/** What an agent was last seen doing. */
export type Phase = "offline" | "starting" | "idle" | "busy" | "asking" | "limited" | "down" | "failed";

/** Where an agent is in tmux. */
export type Place = {
  /** The tmux server's socket. */
  server: string;
  /** The pane, as tmux numbers it: `%7`. */
  pane: string;
};

/** A page of a conversation, oldest first. */
export type Conversation = {
  entries: Array<Entry>;
  /** Where the page before this one ends, if there may be one. */
  next: string | null;
  /** Why there is no conversation, in words. */
  missing: string | null;
};

/** Something that was said. */
export type Entry = {
  /** What it is known by in this conversation. */
  id: string;
  at: Time | null;
  /** Whether it was said to a subagent, or by one. */
  subagent: boolean;
} & ({
  "what": "prompt";
  text: string;
  text_cut: boolean;
  messages: Array<string>;
} | {
  "what": "answer";
  text: string;
  text_cut: boolean;
} | {
  "what": "thinking";
  text: string;
  text_cut: boolean;
} | {
  "what": "call";
  call: string;
  tool: string;
  input: unknown;
  input_cut: boolean;
} | {
  "what": "result";
  call: string;
  text: string;
  text_cut: boolean;
  ok: boolean | null;
} | {
  "what": "note";
  text: string;
});

/** What was said. Of long texts, the beginning is there. */
export type Said = {
  "what": "prompt";
  text: string;
  text_cut: boolean;
  messages: Array<string>;
} | {
  "what": "answer";
  text: string;
  text_cut: boolean;
} | {
  "what": "thinking";
  text: string;
  text_cut: boolean;
} | {
  "what": "call";
  call: string;
  tool: string;
  input: unknown;
  input_cut: boolean;
} | {
  "what": "result";
  call: string;
  text: string;
  text_cut: boolean;
  ok: boolean | null;
} | {
  "what": "note";
  text: string;
};

/** Whether a daemon runs, and which. Also what `cmux daemon status --json` prints. */
export type DaemonStatus = {
  running: boolean;
  /** Whether it is there, and does not answer for its store yet. */
  starting: boolean;
  ready: boolean;
  pid: number | null;
  guard_pid: number | null;
  version: string;
  port: number | null;
  /** Where browsers and scripts find it, if it runs: `http://127.0.0.1:8000`. */
  address: string | null;
  home: string;
  started_at: Time | null;
  /** Why nothing but reading is possible, if that is so. */
  safe_mode: string | null;
};

/** Something a person should know. */
export type StoreNotice = {
  at: Time;
  kind: string;
  text: string;
};

/** Everything at a glance. */
export type Status = {
  daemon: DaemonStatus;
  store: StoreStatus;
  projects: Array<Project>;
  agents: Array<Agent>;
  mail: MailStatus;
  /** What the agents that there are have used. */
  usage: Usage;
};

/** The daemon was asked to stop, and does. */
export type Stopping = {
  pid: number;
};

/** How the store is. */
export type StoreStatus = {
  /** `healthy` or `degraded`. */
  status: string;
  why: string | null;
  log: string | null;
  head: number;
  bytes: number;
  free_bytes: number;
  last_snapshot_at: Time | null;
  /** What a person should know, such as that the store was mended and what is missing since. */
  notices: Array<StoreNotice>;
};

/** Something that happened. */
export type Event = {
  id: number;
  v: number;
  at: Time;
  /** `noun.verb`. */
  kind: string;
  project: string | null;
  agent: string | null;
  run: string | null;
  subject: string | null;
  cause: string | null;
  actor: string;
  data: unknown;
};

/** A stretch of the log, oldest first. */
export type Events = {
  log: string;
  events: Array<Event>;
  /** The newest event there is. */
  head: number;
  /** The newest event that is missing here because it was archived, if that is after the one asked for. */
  archived_through?: number | null;
  /** How far back it was looked, unless it was looked at all there is before: ask again with `before` this. */
  scanned_from: number | null;
  /** How far it was looked after `since`, unless it was looked at all there is: ask again with `since` this. */
  scanned_through: number | null;
};

/** What a client of the stream is told besides events. */
export type Notice = {
  "kind": "hello";
  log: string;
  head: number;
} | {
  "kind": "reset";
} | {
  "kind": "archived";
  through: number;
} | {
  "kind": "lagged";
  resume: number;
} | {
  "kind": "goodbye";
  retry_ms: number;
} | {
  "kind": "vitals";
  sample: Vital;
  health: Health;
};

/** Whether something does what it is there for. */
export type Condition = "healthy" | "degraded";

/** How cmux is. Degraded is answered with 503. */
export type Health = {
  status: Condition;
  api: Condition;
  frontend: Part;
  store: Part;
  tmux: Part;
  router: Part;
  kernel: Part;
  version: string;
  timestamp: Time;
};

/** How a part of cmux is. */
export type Part = {
  status: Condition;
  /** What is wrong with it, if something is. */
  why?: string | null;
};

/** What came of a claim. */
export type ClaimOutcome = "claimed" | "again" | "second" | "blocked";

/** What is answered to the CLI, in its own words. */
export type HookReply = {
  "kind": "pass";
} | {
  "kind": "block";
  why: string;
} | {
  "kind": "allow";
} | {
  "kind": "deny";
  why: string;
} | {
  "kind": "ask";
} | {
  "kind": "context";
  text: string;
};

/** A hook that was stored, and what to answer. */
export type HookTaken = {
  /** The event that it became. */
  event: number;
  /** Whether it had been taken before, so that nothing new has come of it. */
  duplicate: boolean;
  reply: HookReply;
};

/** Something that a kind of agent cannot do. */
export type Cannot = {
  what: string;
  why: string;
};

/** A kind of agent: a CLI that cmux knows. */
export type Kind = {
  name: string;
  /** What its makers call it. */
  title: string;
  /** Where it is on the daemon's machine, if it is there. */
  program: string | null;
  /** What it says of its version, if it has said so. */
  version: string | null;
  /** The version that cmux was tested with. */
  tested: string | null;
  /** How to get it. */
  install: string;
  /** The user's manifest that it is from; without it, cmux came with it. */
  file: string | null;
  /** Who tells how it is, in the order in which they are believed. */
  witnesses: Array<string>;
  /** What it may do without asking: `ask`, `edits` or `all`. */
  permissions: string;
  /** What it can do, besides taking a prompt. */
  can: Array<string>;
  cannot: Array<Cannot>;
};

/** All kinds of agents. */
export type Kinds = {
  kinds: Array<Kind>;
  /** What is wrong with the user's manifests, each with its file and line. */
  refused: Array<string>;
  /** There is one page. */
  next: string | null;
};

/** A way into the dashboard, for whoever follows it first. */
export type Link = {
  url: string;
  /** The same, under a name for browsers by which cmux shares no cookie with the other ports of its host. */
  browser_url: string;
  expires_at: Time;
};

/** How many messages are known to be delivered by one kind of evidence. */
export type EvidenceCount = {
  evidence: string;
  messages: number;
};

/** What an agent was told and what it did, newest first. */
export type History = {
  history: Array<Moment>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** What became of mail since the daemon started. */
export type MailCounts = {
  /** How often something was typed. */
  attempts: number;
  /** How many second copies were kept from agents. */
  duplicates_blocked: number;
  /** How many messages were delivered, by what that is known. */
  delivered: Array<EvidenceCount>;
  /** How long it took on average until agents had read what was sent to them. */
  mean_ms: number | null;
};

/** How mail is: how much of it nobody has read, and what became of the rest. */
export type MailStatus = {
  /** How many messages wait for agents. */
  waiting: number;
  /** When the one of them was sent that has waited longest. */
  oldest_at: Time | null;
  /** How many the person has not read. */
  unread: number;
  counted: MailCounts;
};

/** Something that somebody has to say to an agent, or to the person. */
export type Message = {
  id: string;
  /** The project that it is read in. */
  project: string;
  /** Who says it: an agent's name, with `@` and its project if that is another; `user`, `cmux`, or `script:` and the name of a token. */
  from: string;
  /** Who reads it: an agent's name, or `user`. */
  to: string;
  kind: MessageKind;
  /** What it says. In a list, no more than its beginning. */
  body: string;
  /** How long what it says is. */
  body_bytes: number;
  /** Whether only the beginning of what it says is here. */
  body_cut: boolean;
  /** The message that it answers. */
  reply_to: string | null;
  /** The first message of the conversation that it belongs to. */
  thread: string;
  /** The task that it is about, if it is about one. */
  task: string | null;
  /** What goes with it for programs, if something does. */
  data: unknown;
  state: MessageState;
  /** What it waits for, in a word, if it waits. */
  waiting_for: string | null;
  /** How often it was typed. */
  attempts: number;
  /** Why it is in that state, if there is more to say. */
  reason: string | null;
  /** By what it is known that it was read. */
  evidence: string | null;
  created_at: Time;
  /** When it is given up if it was not read. */
  expires_at: Time | null;
  delivered_at: Time | null;
  /** When the person has read it, if it is to them. */
  read_at: Time | null;
};

/** What a message is. */
export type MessageKind = "task" | "status" | "response" | "question" | "error" | "user" | "system";

/** How far a message has come. */
export type MessageState = "queued" | "typing" | "submitted" | "claimed" | "delivered" | "failed" | "cancelled" | "expired" | "in_doubt";

/** A page of messages. */
export type Messages = {
  messages: Array<Message>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** One entry of an agent's history. */
export type Moment = {
  "what": "message";
} & Message | {
  "what": "turn";
} & Turn;

/** What went wrong. */
export type Problem = {
  /** A name that programs can rely on: `/problems/<slug>`. */
  type: string;
  title: string;
  status: number;
  detail: string;
};

/** A folder that agents work in. */
export type Project = {
  id: string;
  name: string;
  root: string;
  created_at: Time;
  /** Since when the folder is not there, if it is not. */
  missing_since: Time | null;
};

/** A page of projects. */
export type Projects = {
  projects: Array<Project>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** A browser that was let in. */
export type Session = {
  id: string;
  how: SessionHow;
  opened_at: Time;
  expires_at: Time;
  /** Whether it is the one that asks. */
  current: boolean;
};

/** By what a browser was let in. */
export type SessionHow = "link" | "password";

/** A page of sessions. */
export type Sessions = {
  sessions: Array<Session>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** A file of old events. */
export type Archive = {
  file: string;
  /** The newest event in it. */
  through: number;
  events: number;
  sha256: string;
};

/** What a walk along the log's hashes found. */
export type Audit = {
  ok: boolean;
  log: string | null;
  events: number;
  head: number;
  /** How many backups' notes were held against it. */
  anchors: number;
  /** The first event that does not fit. */
  misfit: Misfit | null;
};

/** A copy of the store. */
export type Backup = {
  file: string;
  bytes: number;
  sha256: string;
  /** The newest event in it. */
  head: number;
};

/** What a check of the store found. */
export type Check = {
  ok: boolean;
  problems: Array<string>;
  events: number;
  bytes: number;
};

/** An event that does not fit. */
export type Misfit = {
  id: number;
  why: string;
};

/** A backup that was put in the store's place. */
export type Restored = {
  file: string;
  /** The id of the log that has begun. */
  log: string;
  head: number;
  /** Where what was there before has been moved. */
  replaced: string | null;
};

/** What is on an agent's screen. */
export type Terminal = {
  /** The lines, the newest last. */
  content: string;
  /** Where the cursor is: column and row, from 0. */
  cursor: [number, number];
  /** Columns and rows. */
  size: [number, number];
};

/** What a page is told about a terminal that it follows, between the bytes. */
export type TerminalTold = {
  "size": [number, number];
} | {
  "alive": boolean;
};

/** A token that was made, with what proves it. Nobody can be told that again. */
export type MadeToken = {
  token: Token;
  /** What is sent as `Authorization: Bearer …`. */
  secret: string;
};

/** A token, without what proves it. */
export type Token = {
  id: string;
  name: string;
  scope: TokenScope;
  created_at: Time;
  /** From when on it is refused. Without it, never. */
  expires_at: Time | null;
  revoked_at: Time | null;
};

/** What a token lets its bearer do. Each lets it do what those before it do, too. */
export type TokenScope = "read" | "send" | "operate";

/** A page of tokens. */
export type Tokens = {
  tokens: Array<Token>;
  /** What to ask for to get the next page, if there is one. */
  next: string | null;
};

/** A file of a project that says what is done in it. */
export type ProjectFile = {
  /** Below the project's root. */
  path: string;
  /** The SHA-256 of what is in it, in hexadecimal. */
  digest: string;
  standing: Standing;
};

/** How a file stands with the person. */
export type Standing = "trusted" | "changed" | "new";

/** What is trusted of a project, and what of its own files acts. */
export type Trust = {
  /** The project's id. */
  project: string;
  /** Whether its agents may say, in a dialog of their CLI, that the person trusts the folder. */
  folder: boolean;
  /** Each file that says what is done in the project, as it is now. */
  files: Array<ProjectFile>;
  /** The kind of its agents that the project wants, if that is trusted. */
  kind: string | null;
  /** Whether the project wants a supervisor, if that is trusted. */
  supervisor: boolean | null;
  /** What is wrong with its files, each with its reason. It is not used. */
  refused: Array<string>;
};

/** One prompt's work. */
export type Turn = {
  id: string;
  /** The life of the agent that it belongs to. */
  run: string | null;
  /** When the first of it was heard of. */
  began_at: Time;
  /** When it was heard to be over. */
  ended_at: Time | null;
  /** How it ended. */
  how: TurnEnd | null;
  /** The messages that it was about, if they came from cmux. */
  messages: Array<string>;
  /** The tools that were used in it, each as often as it was, the first ones. */
  tools: Array<string>;
  /** How often a tool was used. */
  calls: number;
  /** What it took, as far as that was read. */
  usage: Usage;
};

/** How a turn ended. */
export type TurnEnd = "done" | "failed" | "limited" | "interrupted" | "left" | "died";

/** How many tokens were used, and what they cost. */
export type Usage = {
  /** How many there were in all. */
  tokens: number;
  /** What the model read, beside what it had kept. */
  input_tokens: number;
  output_tokens: number;
  /** What it had kept from before and read again. */
  cache_read_tokens: number;
  /** What it read and kept. */
  cache_write_tokens: number;
  /** What those tokens cost whose price is known, if any is. */
  cost_usd: number | null;
  /** How many there are whose price is not known. */
  unpriced_tokens: number;
};

/** How cmux did at a time, and what happened since the sample before. */
export type Vital = {
  at: Time;
  status: Condition;
  /** How many agents have a process. */
  agents: number;
  /** How many messages to agents are not over, and for how long the oldest of them has waited. */
  waiting: number;
  oldest_waiting_ms: number | null;
  /** How many messages were delivered since, and how long half and nineteen in twenty of them took at most. */
  delivered: number;
  took_p50_ms: number | null;
  took_p95_ms: number | null;
  /** How many events there were since. */
  events: number;
  /** How many agents were brought back since. */
  restarts: number;
  /** How much memory the daemon takes. */
  rss_bytes: number;
  /** How long the store is, and how much room is left on its disk. */
  store_bytes: number;
  free_bytes: number;
  memory_available_bytes: number;
  memory_total_bytes: number;
};

/** The samples of the last hour, oldest first, and how cmux is now. */
export type Vitals = {
  /** How often a sample is taken. */
  every_ms: number;
  samples: Array<Vital>;
  health: Health;
};

/** A delivery that was stored. */
export type WebhookTaken = {
  /** The event that it became. */
  event: number;
  /** Whether it had been taken before, so that nothing new has come of it. */
  duplicate: boolean;
};

/** A kind of asker. */
export type Principal = "operator" | "agent" | "token" | "stranger";

/** Whom the daemon takes the asker for, and what that one may do. */
export type Whoami = {
  principal: Principal;
  /** The agent's, token's or session's, if it is one. */
  id: string | null;
  scopes: Array<TokenScope>;
};

/** What a witness says of an agent. */
export type Saying = {
  /** `status`, `hooks`, `transcript`, `title`, `screen` or `process`. */
  witness: string;
  /** A phase, or a word like one. */
  says: string;
  /** The rule of the manifest that matched, if one did. */
  rule: string | null;
  /** The line that it matched. */
  line: string | null;
  at: Time;
};

/** An agent's phase, and who said what of it. */
export type Why = {
  agent: string;
  phase: Phase;
  /** Since when it is in that phase. */
  since: Time;
  reason: string | null;
  /** What decided on the phase, if a witness did. */
  decided: Saying | null;
  /** What each witness said last, in the order in which they are believed. */
  sayings: Array<Saying>;
};

/** Asks for an agent. */
export type NewAgent = {
  project: string;
  name: string;
  /** Which program it is, such as `claude`. */
  kind: string;
  /** What it is in its team; a worker unless it is said. */
  role?: string;
  /** What it is to do first. */
  task?: string | null;
  /** Where it works; the project's root unless it is said. An absolute path, of at most 4096 bytes. */
  cwd?: string | null;
  /** Added to the program's own arguments. */
  args?: Array<string>;
  /** Variables that are set besides those that cmux sets. What they hold is told to nobody. */
  env?: {
    [key in string]: string;
  };
  /** Whether it is kept when its task is done. */
  permanent?: boolean;
};

/** Asks for a pane that a person started to be an agent. */
export type Register = {
  /** The pane, as tmux numbers it, after its server's socket and a colon: `/tmp/tmux-1000/default:%7`. Without a socket, it is at the server that tmux asks by itself. */
  pane: string;
  name: string;
  /** Which program runs in it, such as `claude`. */
  kind: string;
  project: string;
};

/** What a hook did about a delivery that was in the prompt it was told of. */
export type HookClaim = {
  delivery: string;
  outcome: ClaimOutcome;
};

/** What an agent's hook was told. */
export type NewHook = {
  /** Made by whoever was called. To hand over the same one again changes nothing. */
  hook: string;
  /** Whose hook it is: `claude`, `codex`, `gemini` or `demo`. */
  kind: string;
  /** What the CLI calls the event, such as `PreToolUse`. */
  event: string;
  /** When it was called. */
  at: Time;
  /** How long the machine had run by then, in milliseconds. It tells how old the hook is, whatever becomes of the clock. */
  since_boot_ms: number;
  /** What the CLI sent, as it came. Secrets in it are not kept. */
  payload: string;
  /** What was done about a message of cmux's that was in a prompt. */
  claim?: HookClaim | null;
};

/** Has something to say to somebody. */
export type NewMessage = {
  /** An agent by its id, by its name, or as `name@project`; or `user`, the person. It may be left out of an answer, which goes to whoever sent what it answers. */
  to?: string | null;
  /** What it says, of at most 10 MiB. */
  body: string;
  /** What it is: unless it is said, an answer is a `response`, what the person says `user`, and all else a `status`. */
  kind?: MessageKind | null;
  /** The project in which the reader has that name. An agent's is its own. */
  project?: string | null;
  /** The message that it answers. */
  reply_to?: string | null;
  /** To send the same again with the same key sends nothing. `Idempotency-Key` says the same. */
  key?: string | null;
  /** After how many seconds it is given up if it was not read. */
  ttl_s?: number | null;
  /** Whether its reader is to be interrupted for it. */
  interrupt?: boolean;
};

/** Asks for a project. */
export type NewProject = {
  /** An absolute path, of at most 4096 bytes. */
  root: string;
  /** The folder's own name unless it is said. */
  name?: string | null;
};

/** Asks to be let in by password. */
export type Login = {
  password: string;
};

/** Asks for old events to be written to a file and taken out of the store. */
export type NewArchive = {
  /** An absolute path, at which there must be nothing. */
  file: string;
  /** Events of the last so many days stay. */
  keep_days: number;
};

/** Asks for a copy of the store. */
export type NewBackup = {
  /** An absolute path, at which there must be nothing. */
  file: string;
};

/** What a client says to a terminal that it follows. What is not there is not said. */
export type TerminalSaid = {
  /** What is typed. */
  input?: string | null;
  /** How many columns and rows there are to be. When the connection ends, however it ends, there are as many as before the first time, unless somebody else has resized it since. */
  resize?: [number, number] | null;
  /** There are to be as many columns and rows as before the first time, while the connection lasts. */
  restore?: boolean | null;
};

/** Asks for a token. */
export type NewToken = {
  /** What it is for; the daemon finds a name unless it is said. */
  name?: string | null;
  scope: TokenScope;
  /** For how long it is good: 30 days unless it is said, and `null` for ever. */
  expires_in_s?: number | null;
};

/** Trusts files as the person was shown them. What was trusted before stays so. */
export type NewTrust = {
  files: Array<ShownFile>;
  /** Whether agents may say, in a dialog of their CLI, that the person trusts the folder. */
  folder: boolean;
};

/** A file as a person was shown it. */
export type ShownFile = {
  /** Below the project's root. */
  path: string;
  /** The SHA-256 of what was shown, in hexadecimal. */
  digest: string;
};
