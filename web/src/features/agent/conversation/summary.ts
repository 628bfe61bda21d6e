/** Says in one line what a tool was asked to do. */

import { fields, text } from "../../../feed/data";

/** The fields that tell most of a tool's input, the best first. */
const TELLING = [
  "command",
  "cmd",
  "file_path",
  "filePath",
  "path",
  "notebook_path",
  "pattern",
  "query",
  "url",
  "description",
  "subject",
  "prompt",
  "message",
  "text",
  "name",
];

const LINE_MAX = 200;

/** Returns what is best said of an input, in a line. */
export function summaryOf(input: unknown): string {
  if (typeof input === "string") return line(input);
  if (Array.isArray(input)) return line(input.map(plain).join(" "));
  const data = fields(input);
  for (const name of TELLING) {
    const value = data[name];
    if (Array.isArray(value) && value.length > 0) return line(value.map(plain).join(" "));
    const said = text(data, name);
    if (said !== null && said.trim() !== "") return line(said);
  }
  const pairs = Object.entries(data).map(([name, value]) => `${name}: ${plain(value)}`);
  return line(pairs.join(", "));
}

/** Returns an input in full: text as it is, field by field, and all else as JSON. */
export function fullOf(input: unknown): string {
  if (typeof input === "string") return input;
  if (Array.isArray(input)) return JSON.stringify(input, null, 2);
  const pairs = Object.entries(fields(input));
  const only = pairs.length === 1 ? pairs[0]?.[1] : null;
  if (typeof only === "string") return only;
  return pairs.map(([name, value]) => field(name, value)).join("\n");
}

function field(name: string, value: unknown): string {
  const said = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return said.includes("\n") ? `${name}:\n${said}` : `${name}: ${said}`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function line(said: string): string {
  const flat = said.replace(/\s+/g, " ").trim();
  return flat.length > LINE_MAX ? `${flat.slice(0, LINE_MAX - 1)}…` : flat;
}
