/** Waiting for something to be so, and never for a time to pass. */

/** How long something is waited for: on a machine that does much else, too. */
const PATIENCE_MS = 90_000;
const PAUSE_MS = 25;

/** Asks until it is answered with something, and returns that. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((then) => setTimeout(then, PAUSE_MS));
  }
}

/** Waits until something is true. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  await eventually(what, async () => ((await isSo()) ? true : undefined));
}
