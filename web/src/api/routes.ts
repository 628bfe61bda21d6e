/** One function for each route that the dashboard asks. */

import type {
  Agent,
  Conversation,
  Events,
  Health,
  History,
  Kinds,
  Message,
  MessageState,
  Messages,
  NewAgent,
  NewMessage,
  Sessions,
  Status,
  Vitals,
  Whoami,
  Why,
} from "../wire";
import { ProblemError, request } from "./request";

const of = (noun: string, id: string) => `/api/${noun}/${encodeURIComponent(id)}`;
const agent = (id: string) => of("agents", id);
const message = (id: string) => of("messages", id);

export const showStatus = (signal?: AbortSignal) =>
  request<Status>("GET", "/api/status", { signal });
export const whoAmI = () => request<Whoami>("GET", "/api/whoami");

/** Returns how cmux is. A degraded one is an answer, too, though its status is 503. */
export async function showHealth(signal?: AbortSignal): Promise<Health> {
  const answer = await fetch("/api/webhooks/health", { signal: signal ?? null });
  if (answer.ok || answer.status === 503) return (await answer.json()) as Health;
  throw new ProblemError({
    type: "about:blank",
    title: "The health of cmux is not known",
    status: answer.status,
    detail: `cmux answered ${answer.status}.`,
  });
}

export const showVitals = (signal?: AbortSignal) =>
  request<Vitals>("GET", "/api/vitals", { signal });

export const showAgent = (id: string, signal?: AbortSignal) =>
  request<Agent>("GET", agent(id), { signal });
export const explainAgent = (id: string, signal?: AbortSignal) =>
  request<Why>("GET", `${agent(id)}/why`, { signal });
export const spawnAgent = (body: NewAgent) => request<Agent>("POST", "/api/agents", { body });
export const stopAgent = (id: string) => request<Agent>("POST", `${agent(id)}/stop`);
export const restartAgent = (id: string) => request<Agent>("POST", `${agent(id)}/restart`);
export const pauseAgent = (id: string) => request<Agent>("POST", `${agent(id)}/pause`);
export const resumeAgent = (id: string) => request<Agent>("POST", `${agent(id)}/resume`);
export const interruptAgent = (id: string) => request<Agent>("POST", `${agent(id)}/interrupt`);
export const removeAgent = (id: string) => request<void>("DELETE", agent(id));

export const showHistory = (id: string, cursor?: string | null, signal?: AbortSignal) =>
  request<History>("GET", `${agent(id)}/history`, { query: { cursor }, signal });
export const showConversation = (
  id: string,
  page: { before?: string | null; limit?: number } = {},
  signal?: AbortSignal,
) => request<Conversation>("GET", `${agent(id)}/conversation`, { query: page, signal });

export const listKinds = (signal?: AbortSignal) => request<Kinds>("GET", "/api/kinds", { signal });

/** Which messages are wanted. `to` and `from` are an agent's id, its name, `name@project`, or `user`. */
export type MessagesWanted = {
  to?: string | undefined;
  from?: string | undefined;
  state?: MessageState | undefined;
  thread?: string | undefined;
  project?: string | undefined;
  unread?: boolean | undefined;
  limit?: number | undefined;
  cursor?: string | null | undefined;
};

export const listMessages = (query: MessagesWanted = {}, signal?: AbortSignal) =>
  request<Messages>("GET", "/api/messages", { query, signal });
export const showMessage = (id: string, signal?: AbortSignal) =>
  request<Message>("GET", message(id), { signal });
export const sendMessage = (body: NewMessage) =>
  request<Message>("POST", "/api/messages", { body });
export const retryMessage = (id: string) => request<Message>("POST", `${message(id)}/retry`);
export const cancelMessage = (id: string) => request<Message>("POST", `${message(id)}/cancel`);
export const readMessage = (id: string) => request<Message>("POST", `${message(id)}/read`);

/** Which events are wanted: those after `since`, those before `before`, or without either the newest. */
export type EventsWanted = {
  since?: number | undefined;
  before?: number | undefined;
  limit?: number | undefined;
  project?: string | undefined;
  agent?: string | undefined;
  kind?: string | undefined;
  subject?: string | undefined;
  q?: string | undefined;
};

export const listEvents = (query: EventsWanted = {}, signal?: AbortSignal) =>
  request<Events>("GET", "/api/events", { query, signal });

export const listSessions = (signal?: AbortSignal) =>
  request<Sessions>("GET", "/api/sessions", { signal });
/** Sends a browser away: the one that is named, or `current` for this one. */
export const closeSession = (id: string) => request<void>("DELETE", of("sessions", id));

/** Returns where an agent's terminal is followed. */
export const terminalAddress = (id: string) => socketAddress(`${agent(id)}/terminal/ws?told=true`);

/** Returns where a path is reached by WebSocket. */
export function socketAddress(path: string): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${path}`;
}
