/** What can be done about a message, and how that is called. */

import type { QueryClient } from "@tanstack/react-query";
import { Ban, RotateCw } from "lucide-react";
import { cancelMessage, retryMessage } from "../../api/routes";
import { toast, toastError } from "../../shared/toast";
import type { Message, MessageState } from "../../wire";
import { learnMessage } from "./mail";

export type Doing = "retry" | "cancel";

/** Returns what can be done about a message in this state. */
export function doingOf(state: MessageState): Doing | null {
  switch (state) {
    case "queued":
    case "typing":
    case "submitted":
    // It may come back to its reader's prompt, unread.
    case "claimed":
    case "in_doubt":
      return "cancel";
    case "failed":
    case "cancelled":
    case "expired":
      return "retry";
    case "delivered":
      return null;
  }
}

/** Returns what doing so is called, and its icon. */
export function describeDoing(doing: Doing) {
  switch (doing) {
    case "retry":
      return { label: "Send again", icon: RotateCw };
    case "cancel":
      return { label: "Take back", icon: Ban };
  }
}

/** Says why a message is not taken back yet, or will not be. */
function tooLate(state: MessageState): string {
  return state === "delivered"
    ? "It was too late: it was read"
    : "It is on its way, and is taken back if that can still be done";
}

/** Does it. What is done is said when it begins: the log may tell of its end before this is answered. */
export async function doTo(client: QueryClient, message: Message, doing: Doing): Promise<void> {
  try {
    const answered = await (doing === "retry" ? retryMessage : cancelMessage)(message.id);
    if (doing === "cancel" && answered.state !== "cancelled") toast(tooLate(answered.state));
    learnMessage(client, answered);
  } catch (error) {
    toastError(error, doing === "retry" ? "It was not sent again" : "It was not taken back");
  }
}
