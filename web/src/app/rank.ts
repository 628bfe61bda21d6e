/** Finds actions by a few letters. Pure, so that the palette draws only what it finds. */

import type { Action } from "../shared/actions";

/** Returns the actions that fit what was typed, the best first; all if nothing was, up to `limit`. */
export function ranked(
  actions: ReadonlyArray<Action>,
  typed: string,
  limit: number,
): ReadonlyArray<Action> {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return actions.slice(0, limit);
  const found: { action: Action; score: number; at: number }[] = [];
  for (const [at, action] of actions.entries()) {
    const score = scoreOf(action, words);
    if (score > 0) found.push({ action, score, at });
  }
  found.sort((one, other) => other.score - one.score || one.at - other.at);
  return found.slice(0, limit).map(({ action }) => action);
}

/** Returns how well an action fits all words, and 0 if one of them does not. */
function scoreOf(action: Action, words: ReadonlyArray<string>): number {
  const title = action.title.toLowerCase();
  const others = [action.group, ...(action.keywords ?? [])].join(" ").toLowerCase();
  let sum = 0;
  for (const word of words) {
    const score = Math.max(nearness(title, word) * 2, nearness(others, word));
    if (score === 0) return 0;
    sum += score;
  }
  return title === words.join(" ") ? sum + 10 : sum;
}

/** Returns how well a word fits a text: at its beginning, at a word's, anywhere, or letter by letter. */
function nearness(text: string, word: string): number {
  const at = text.indexOf(word);
  if (at === 0) return 4;
  if (at > 0) return /[\s\-_]/.test(text.charAt(at - 1)) ? 3 : 2;
  let from = 0;
  for (const letter of word) {
    const next = text.indexOf(letter, from);
    if (next === -1) return 0;
    from = next + 1;
  }
  return 0.5;
}
