/** Which questions to the person are open. Pure. */

import type { Message, MessageState } from "../wire";
import { type FleetState, type Letter, letterOf } from "./state";

/** Returns the questions after which the person has said nothing in their conversation, oldest first. */
export function unanswered(
  toPerson: Iterable<Message>,
  fromPerson: Iterable<Message>,
): ReadonlyArray<Letter> {
  const saidAt = new Map<string, string>();
  for (const { thread, state, created_at } of fromPerson) {
    if (isSaid(state) && created_at > (saidAt.get(thread) ?? "")) saidAt.set(thread, created_at);
  }
  return [...toPerson]
    .filter(({ kind, state }) => kind === "question" && state === "delivered")
    .filter(({ thread, created_at }) => created_at > (saidAt.get(thread) ?? ""))
    .sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
    .map(letterOf);
}

/** Returns whether what is in this state was said, or is about to be. */
export function isSaid(state: MessageState): boolean {
  switch (state) {
    case "queued":
    case "typing":
    case "submitted":
    case "claimed":
    case "delivered":
    case "in_doubt":
      return true;
    case "failed":
    case "cancelled":
    case "expired":
      return false;
  }
}

/** Returns the state with questions that were found by looking back. What was answered meanwhile is not among them. */
export function withQuestions(state: FleetState, found: ReadonlyArray<Letter>): FleetState {
  const fresh = found.filter(({ thread }) => !state.answered.has(thread));
  const known = new Map(fresh.map((letter) => [letter.id, letter]));
  for (const [id, letter] of state.questions) known.set(id, letter);
  return known.size === state.questions.size ? state : { ...state, questions: known };
}

/** Returns the state with a question that has just come. */
export function asked(state: FleetState, letter: Letter): FleetState {
  return { ...state, questions: new Map(state.questions).set(letter.id, letter) };
}

/** Returns the state after the person has said something in a conversation. */
export function answered(state: FleetState, thread: string): FleetState {
  const questions = new Map([...state.questions].filter(([, it]) => it.thread !== thread));
  return { ...state, questions, answered: new Set(state.answered).add(thread) };
}

/** Returns the state after what the person said in a conversation was taken back, or came to nothing. */
export function unsaid(state: FleetState, thread: string): FleetState {
  const left = new Set(state.answered);
  left.delete(thread);
  return { ...state, answered: left };
}

/**
 * Returns the questions that a person is needed for, oldest first: those of agents that there are, who wait for an
 * answer, and of all others those that were not read.
 */
export function openQuestions(state: FleetState): Letter[] {
  return [...state.questions.values()].filter(
    (letter) => state.unread.has(letter.id) || isThere(state, letter),
  );
}

function isThere({ agents }: FleetState, { from, project }: Letter): boolean {
  const [name, place = project] = from.split("@");
  for (const agent of agents.values()) {
    if (agent.name === name && agent.project === place) return true;
  }
  return false;
}
