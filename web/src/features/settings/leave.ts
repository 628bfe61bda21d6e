/** Signs this browser out. */

import { closeSession } from "../../api/routes";
import { signOut } from "../../feed/follow";
import { toastError } from "../../shared/toast";

export async function leave(): Promise<void> {
  try {
    await closeSession("current");
    signOut();
  } catch (error) {
    toastError(error, "You are still signed in");
  }
}
