/** Copies text for the person, and says so if the browser does not let it. */

import { toast } from "./toast";

/** Copies a text, and returns whether that worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // There is none on a page that is neither on this machine nor encrypted.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast("The browser does not let this page copy", { tone: "failed" });
    return false;
  }
}

/** Copies a text, and says that it did. `what` begins the sentence: `The link`. */
export async function copyAndSay(text: string, what: string): Promise<void> {
  if (await copyText(text)) toast(`${what} is copied`);
}

/** Returns the address of a path here, as it is told to others. */
export function linkTo(path: string): string {
  return `${location.origin}${path}`;
}
