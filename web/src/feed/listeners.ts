/** Those who listen to something, of whom none holds up the others. */

/**
 * Calls each of them. What one throws is told to the browser, as a mistake of the page is, and the others are
 * called all the same.
 */
export function callAll<Said extends unknown[]>(
  listeners: ReadonlySet<(...said: Said) => void>,
  ...said: Said
): void {
  for (const listener of listeners) {
    try {
      listener(...said);
    } catch (error) {
      reportError(error);
    }
  }
}
