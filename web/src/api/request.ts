/** Asks the daemon over HTTP, and says in words what went wrong. */

import type { Problem } from "../wire";

/** What the daemon refused, or that it did not answer. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ProblemError";
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }
}

type Method = "GET" | "POST" | "DELETE";

/** What a request says besides its path. `undefined` and `null` are left out of the query. */
export type Asked = {
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  key?: string;
  signal?: AbortSignal | undefined;
};

let signedOut: () => void = () => {};

/** Has `then` called whenever the daemon says that this browser is not let in. */
export function whenSignedOut(then: () => void): void {
  signedOut = then;
}

/** Returns a path with its query. */
export function address(path: string, query: Asked["query"] = {}): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") said.set(name, String(value));
  }
  const text = said.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Asks, and returns what is answered. Fails with a `ProblemError`, or as aborted. */
export async function request<T>(method: Method, path: string, asked: Asked = {}): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (asked.body !== undefined) headers["content-type"] = "application/json";
  if (asked.key !== undefined) headers["idempotency-key"] = asked.key;
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  if (asked.signal) init.signal = asked.signal;
  const answer = await answered(fetch(address(path, asked.query), init));
  if (answer.status === 401) signedOut();
  if (!answer.ok) throw new ProblemError(await problemOf(answer));
  return (answer.status === 204 ? undefined : await answered(answer.json())) as T;
}

/** Returns what is `awaited` of the daemon. If it goes away meanwhile, that is said in words. */
async function answered<T>(awaited: Promise<T>): Promise<T> {
  try {
    return await awaited;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ProblemError({
      type: "/problems/no-answer",
      title: "cmux does not answer",
      status: 0,
      detail: "Is it still running? `cmux up` in the project starts it.",
    });
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const said: unknown = await answer.json();
    if (typeof said === "object" && said !== null && "detail" in said) return said as Problem;
  } catch {
    // It is said below what is known without it.
  }
  const title = answer.statusText || `Status ${answer.status}`;
  const detail = `cmux answered ${answer.status} and did not say why.`;
  return { type: "about:blank", title, status: answer.status, detail };
}

/** Returns what went wrong as a person is told it. */
export function inWords(error: unknown): { title: string; detail: string } {
  if (error instanceof ProblemError) {
    const { title, detail } = error.problem;
    return { title: sentence(title), detail: sentence(detail) };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { title: "Something went wrong in this page", detail };
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
