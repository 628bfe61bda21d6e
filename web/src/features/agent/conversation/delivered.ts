/** Reads what cmux delivered to an agent: who said what, by the lines that cmux put before each message. Pure. */

import { isMessageKind } from "../../../feed/data";
import type { MessageKind } from "../../../wire";

/** What somebody said, and the line that says so. */
export type Said = {
  from: string;
  kind: MessageKind;
  message: string;
  /** The line as it was typed. */
  header: string;
  body: string;
};

/** Such a line. One of somebody's own text is marked before it is typed. */
const HEADER = /^\[cmux (?:and )?(dlv_\w+) from (.+) · (\w+) · (msg_\w+)\]$/;

/** Returns what is said in a prompt, or nothing if it does not begin as what cmux delivers. */
export function deliveredIn(text: string): Said[] | null {
  const said: Said[] = [];
  let delivery: string | undefined;
  for (const line of text.trimStart().split("\n")) {
    const header = readHeader(line);
    delivery ??= header?.delivery;
    const last = said.at(-1);
    if (header !== null && header.delivery === delivery) said.push(header.said);
    else if (last === undefined) return null;
    else last.body += `${line}\n`;
  }
  return said.map((one) => ({ ...one, body: one.body.trim() }));
}

function readHeader(line: string): { delivery: string; said: Said } | null {
  const [header, delivery = "", from = "", kind = "", message = ""] = HEADER.exec(line) ?? [];
  if (header === undefined || !isMessageKind(kind)) return null;
  return { delivery, said: { from, kind, message, header, body: "" } };
}
