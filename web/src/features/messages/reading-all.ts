/** Takes all that the person was sent as read. */

import { listMessages, readMessage } from "../../api/routes";
import { counted } from "../../shared/format";
import { toast, toastError } from "../../shared/toast";
import { USER } from "./threads";

const AT_ONCE_MAX = 4;

/** Does it, and tells the person how much that was. */
export async function readAll(): Promise<void> {
  try {
    toast(`${counted(await readEach(), "message")} marked as read`);
  } catch (error) {
    toastError(error, "Not all is marked as read");
  }
}

/** Reads all that is unread, and returns how much that was. */
async function readEach(): Promise<number> {
  let count = 0;
  for (;;) {
    const { messages } = await listMessages({ to: USER, unread: true });
    if (messages.length === 0) return count;
    const left = [...messages];
    const work = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await readMessage(next.id);
    };
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
    count += messages.length;
  }
}
