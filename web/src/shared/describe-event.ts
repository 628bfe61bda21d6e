/** Says in a sentence what an event of the log tells. */

import { type Data, fields, isPhase, number, text } from "../feed/data";
import type { Event } from "../wire";
import { describeEvidence, describePhase, describeWaitingFor, type Tone } from "./describe";
import { bytes, counted, duration } from "./format";

export type EventSaid = { text: string; tone: Tone };

/** Returns what happened, without who it happened to. A kind that is not known is said by its name. */
export function describeEvent(event: Event): EventSaid {
  const data = fields(event.data);
  const noun = event.kind.slice(0, event.kind.indexOf("."));
  switch (noun) {
    case "agent":
      return ofAgent(event.kind, data);
    case "message":
      return ofMessage(event.kind, data);
    case "turn":
    case "tool":
    case "hook":
      return ofTurn(event.kind, data);
    case "project":
      return ofProject(event.kind, data);
    case "store":
    case "snapshot":
    case "log":
    case "payload":
      return ofStore(event.kind, data);
    default:
      return ofDaemon(event.kind, data);
  }
}

const plain = (said: string): EventSaid => ({ text: said, tone: "plain" });

function because(reason: string | null): string {
  return reason === null || reason === "" ? "" : `: ${reason}`;
}

function ofAgent(kind: string, data: Data): EventSaid {
  switch (kind) {
    case "agent.phase": {
      const to = text(data, "to");
      if (!isPhase(to)) return plain(`is ${to ?? "as it was"}`);
      const { label, tone } = describePhase(to);
      return { text: `${label.toLowerCase()}${because(text(data, "reason"))}`, tone };
    }
    case "agent.held": {
      const held = text(data, "for");
      return plain(
        held === null ? "can be given mail again" : `lets mail wait: ${describeWaitingFor(held)}`,
      );
    }
    case "agent.spawned":
      return plain(`was spawned: ${text(data, "kind")}, ${text(data, "role")}`);
    case "agent.asked":
      return plain(`is asked to ${text(data, "intent")}`);
    case "agent.exited":
      return { text: `ended${because(text(data, "how"))}`, tone: "failed" };
    case "agent.adopted":
      return plain(`was adopted in pane ${text(data, "pane")}`);
    case "agent.found":
      return plain(`was found again in pane ${text(data, "pane")}`);
    case "agent.removed":
      return plain(`was forgotten: ${text(data, "name")}`);
    case "agent.used":
      return plain(`used ${counted(number(fields(data["more"]), "tokens") ?? 0, "token")}`);
    default:
      return plain(kind);
  }
}

function ofMessage(kind: string, data: Data): EventSaid {
  const way = `${text(data, "from") ?? "?"} → ${text(data, "to") ?? "?"}`;
  const why = because(text(data, "reason"));
  const took = number(data, "took_ms");
  switch (kind) {
    case "message.queued":
      return plain(`${way}: ${text(data, "kind")}, ${bytes(number(data, "bytes") ?? 0)}, queued`);
    case "message.delivered": {
      const evidence = text(data, "evidence");
      // What is for the person is there at once.
      if (evidence === "stored") return { text: `${way}: delivered to the inbox`, tone: "idle" };
      const after = took === null ? "" : ` after ${duration(took)}`;
      const known = evidence === null ? "" : `: ${describeEvidence(evidence)}`;
      return { text: `${way}: delivered${after}${known}`, tone: "idle" };
    }
    case "message.failed":
    case "message.expired":
      return { text: `${way}: ${kind.slice("message.".length)}${why}`, tone: "failed" };
    case "message.in_doubt":
      return { text: `${way}: in doubt${why}`, tone: "asking" };
    case "message.read":
      return plain("a message was read by the person");
    case "message.retried":
      return plain(`a message is tried again that was ${text(data, "was")}`);
    default:
      return plain(`${way}: ${kind.slice("message.".length)}${why}`);
  }
}

function ofTurn(kind: string, data: Data): EventSaid {
  switch (kind) {
    case "turn.started":
      return { text: "began a turn", tone: "busy" };
    case "turn.ended": {
      const took = duration(number(data, "took_ms") ?? 0);
      const calls = counted(number(data, "calls") ?? 0, "tool call");
      return plain(`ended a turn: ${text(data, "how")}, ${took}, ${calls}`);
    }
    case "tool.used": {
      const isBad = data["ok"] === false;
      const said = `used ${text(data, "tool")}${isBad ? ", which failed" : ""}`;
      return { text: said, tone: isBad ? "failed" : "plain" };
    }
    case "hook.received":
      return plain(hookSaid(data));
    default:
      return plain(kind);
  }
}

/** Says what an agent's CLI has told of itself, in words if it is known what that means. */
function hookSaid(data: Data): string {
  const tool = text(data, "tool") ?? "a tool";
  switch (text(data, "means")) {
    case "session_began":
      return "says that its session began";
    case "session_ended":
      return "says that its session is over";
    case "prompted":
      return "says that it was given a prompt";
    case "tool_began":
      return `says that it is about to use ${tool}`;
    case "tool_ended":
      return `says that it has used ${tool}${data["ok"] === false ? ", which failed" : ""}`;
    case "asking":
      return "says that it waits for an answer";
    case "turn_ended":
      return "says that its turn is over";
    case "turn_in_background":
      return "says that its turn goes on in the background";
    case "turn_failed":
      return "says that its turn failed";
    case "limited":
      return "says that its provider has a limit";
    case "subagent_began":
      return "says that a subagent began";
    case "subagent_ended":
      return "says that a subagent is done";
    case "compacting":
      return "says that its conversation is being made shorter";
    default:
      return `says something that changes nothing: ${text(data, "name")}`;
  }
}

function ofProject(kind: string, data: Data): EventSaid {
  const root = text(data, "root") ?? "";
  switch (kind) {
    case "project.added":
      return plain(`project ${text(data, "name")} was added: ${root}`);
    case "project.removed":
      return plain(`project ${text(data, "name")} was forgotten`);
    case "project.missing":
      return { text: `the folder is not there: ${root}`, tone: "failed" };
    case "project.found":
      return plain(`the folder is there again: ${root}`);
    case "project.trusted":
      return plain("files of the project are trusted");
    case "project.untrusted":
      return plain("the project is not trusted any more");
    default:
      return plain(kind);
  }
}

function ofStore(kind: string, data: Data): EventSaid {
  const size = (name: string) => bytes(number(data, name) ?? 0);
  const rows = number(data, "rows") ?? 0;
  switch (kind) {
    case "snapshot.taken":
      return plain(`a copy of the store was made, ${size("bytes")}`);
    case "snapshot.failed":
      return { text: `no copy of the store was made${because(text(data, "why"))}`, tone: "failed" };
    case "log.archived":
      return plain(`${counted(rows, "old event")} went to ${text(data, "file")}`);
    case "payload.pruned":
      return plain(`${counted(rows, "old payload")} of hooks were dropped`);
    case "store.migrated":
      return plain(`the store went from version ${number(data, "from")} to ${number(data, "to")}`);
    case "store.restored":
      return plain(`the store was restored from ${text(data, "from")}`);
    case "store.repaired": {
      const lost = number(data, "events_missing") ?? 0;
      const missing = lost === 0 ? "nothing is missing" : `${counted(lost, "event")} missing`;
      const wrong = text(data, "what_was_wrong") ?? "it was damaged";
      return { text: `the store was repaired, ${missing}: ${wrong}`, tone: "asking" };
    }
    case "store.full":
      return { text: `the disk is full: ${size("free_bytes")} free`, tone: "failed" };
    case "store.room_again":
      return plain(`the disk has room again: ${size("free_bytes")} free`);
    default:
      return plain(kind);
  }
}

function ofDaemon(kind: string, data: Data): EventSaid {
  switch (kind) {
    case "daemon.started":
      return plain(`cmux ${text(data, "version")} started`);
    case "daemon.stopping":
      return plain(`cmux stops${because(text(data, "why"))}`);
    case "clock.jumped":
      return plain(`the clock jumped by ${duration(Math.abs(number(data, "by_ms") ?? 0))}`);
    case "tmux.lost":
      return { text: `a tmux server is gone: ${text(data, "server")}`, tone: "failed" };
    case "session.opened":
      return plain(`a browser signed in by ${text(data, "how")}`);
    case "session.over":
      return plain(`a browser is signed out: ${text(data, "why")?.replace("_", " ")}`);
    case "link.made":
      return plain("a link to the dashboard was made");
    case "link.reused":
      return {
        text: "a link to the dashboard was followed twice, and whom it let in is out",
        tone: "asking",
      };
    case "password.changed":
      return plain(data["set"] === true ? "the password was set" : "the password was cleared");
    case "token.created":
      return plain(`token ${text(data, "name")} was made: ${text(data, "scope")}`);
    case "token.revoked":
      return plain(`token ${text(data, "name")} was revoked`);
    case "webhook.received":
      return plain(`${text(data, "source")} sent ${text(data, "event") ?? "something"}`);
    case "door.refused":
      return plain(
        `refused ${text(data, "method")} ${text(data, "path")}: ${text(data, "reason")}`,
      );
    default:
      return plain(kind);
  }
}
