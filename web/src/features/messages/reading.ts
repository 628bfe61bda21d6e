/** Tells the daemon what the person has read: what is shown to them while they look. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { readMessage } from "../../api/routes";
import type { Message } from "../../wire";
import { learnMessage } from "./mail";
import { isUnread } from "./threads";

/** Takes messages that are shown as read, each once. What comes while nobody looks is read once somebody does. */
export function useReading(messages: ReadonlyArray<Message>): void {
  const client = useQueryClient();
  const [told] = useState(() => new Set<string>());
  useEffect(() => {
    const read = () => {
      if (document.visibilityState === "hidden") return;
      for (const { id } of messages.filter((one) => isUnread(one) && !told.has(one.id))) {
        told.add(id);
        readMessage(id).then(
          (message) => learnMessage(client, message),
          () => told.delete(id),
        );
      }
    };
    read();
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, [client, told, messages]);
}
