/**
 * A home of a test's own: the real daemon in it, its tmux servers and its scripted agents, all of which end
 * with it.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, DaemonStatus, Event, Events, MadeToken, Message, Status } from "../src/wire";
import { eventually, until } from "./wait";

/** The program that is tried, which the gate builds before. */
const PROGRAM = process.env["CMUX_PROGRAM"] ?? "";

/** What a scripted agent does, as `cmux demo --help` tells. */
export type Script = {
  rules: ReadonlyArray<{
    when?: { contains?: string; starts?: string; turn?: number };
    steps: ReadonlyArray<Record<string, unknown>>;
  }>;
};

/** What a command printed, and how it ended. */
export type Ran = { code: number; stdout: string; stderr: string };

export class House {
  readonly folder = mkdtempSync(join(tmpdir(), "cmux-web-"));
  readonly home = join(this.folder, "home");
  /** The port is chosen once, so that a page finds the daemon again. */
  port = 0;
  private daemon: ChildProcess | null = null;
  private said = "";

  /** Starts a daemon in a home that was `furnished` before. */
  static async open(furnish?: (house: House) => Promise<void>): Promise<House> {
    const house = new House();
    mkdirSync(house.home, { mode: 0o700 });
    await furnish?.(house);
    await house.start();
    return house;
  }

  /** What is set for all that runs in this home: nothing of the person's. */
  private environment(): NodeJS.ProcessEnv {
    const { PATH, LANG } = process.env;
    return {
      PATH,
      LANG: LANG ?? "C.UTF-8",
      TERM: "xterm-256color",
      HOME: this.folder,
      CMUX_HOME: this.home,
      CMUX_PORT: String(this.port),
      NO_COLOR: "1",
    };
  }

  /** Starts a daemon, and waits until it is ready; or only there, if it is told why it may do nothing but read. */
  async start(safeMode?: string): Promise<void> {
    if (PROGRAM === "") throw new Error("CMUX_PROGRAM is not set: `make test` sets it");
    const options = { cwd: this.folder, env: this.environment() };
    const more = safeMode === undefined ? [] : ["--safe-mode", safeMode];
    const daemon = spawn(PROGRAM, ["daemon", "run", ...more], {
      ...options,
      stdio: ["ignore", "ignore", "pipe"],
    });
    daemon.stderr?.on("data", (bytes) => {
      this.said = (this.said + String(bytes)).slice(-10_000);
    });
    this.daemon = daemon;
    this.port = await eventually("the daemon is ready", async () => {
      if (daemon.exitCode !== null) throw new Error(`the daemon has ended: ${this.said}`);
      const { code, stdout } = await this.run(["daemon", "status", "--json"]);
      if (code !== 0) return undefined;
      const status = JSON.parse(stdout) as DaemonStatus;
      return status.ready || status.safe_mode !== null ? (status.port ?? undefined) : undefined;
    });
  }

  /** Kills the daemon, as a crash does. */
  async kill(): Promise<void> {
    const daemon = this.daemon;
    this.daemon = null;
    if (daemon === null || daemon.exitCode !== null) return;
    const ended = once(daemon, "exit");
    daemon.kill("SIGKILL");
    await ended;
  }

  /** Runs a command to its end. It may be told something by a pipe. */
  run(args: ReadonlyArray<string>, input?: string): Promise<Ran> {
    const options = { cwd: this.folder, env: this.environment(), maxBuffer: 64 << 20 };
    return new Promise((resolve) => {
      const ran = execFile(PROGRAM, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
      if (input !== undefined) ran.stdin?.end(input);
    });
  }

  /** Runs a command that must do well, and returns what it printed as JSON. */
  async json<T>(...args: string[]): Promise<T> {
    const ran = await this.run(["--json", ...args]);
    if (ran.code !== 0) throw new Error(`cmux ${args.join(" ")}: ${ran.code} ${ran.stderr}`);
    return JSON.parse(ran.stdout) as T;
  }

  /** Makes a folder and adds it as a project, whose id is returned. */
  async project(name: string): Promise<string> {
    const root = join(this.folder, name);
    mkdirSync(join(root, ".git"), { recursive: true });
    return (await this.json<{ id: string }>("project", "add", root)).id;
  }

  /** Launches a scripted agent, and waits until it is at its prompt. */
  async agent(project: string, name: string, script?: Script, more: string[] = []): Promise<Agent> {
    await this.launch(project, name, script, more);
    return this.until(name, (agent) => agent.phase === "idle");
  }

  /** Launches a scripted agent. */
  launch(project: string, name: string, script?: Script, more: string[] = []): Promise<Agent> {
    const args = ["agent", "spawn", name, "--project", project, "--kind", "demo", ...more];
    if (script === undefined) return this.json<Agent>(...args);
    const file = join(this.folder, `${name}.script.json`);
    writeFileSync(file, JSON.stringify(script));
    return this.json<Agent>(...args, "--", "--script", file);
  }

  /** Returns how an agent is, by a name that no other has. */
  async look(name: string): Promise<Agent> {
    const { agents } = await this.json<{ agents: Agent[] }>("agent", "list", "--all");
    const found = agents.find((agent) => agent.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  }

  /** Waits until an agent is as it is wanted. */
  until(name: string, isSo: (agent: Agent) => boolean): Promise<Agent> {
    return eventually(`${name} is as it is waited for: ${isSo}`, async () => {
      const agent = await this.look(name);
      return isSo(agent) ? agent : undefined;
    });
  }

  /** Sends a message as the person at the command line. */
  send(to: string, text: string, ...more: string[]): Promise<Message> {
    return this.json<Message>("send", ...more, to, "--", text);
  }

  status(): Promise<Status> {
    return this.json<Status>("status");
  }

  /** Returns all events, in the order of the log. */
  async events(): Promise<Event[]> {
    const all: Event[] = [];
    for (;;) {
      const since = all.at(-1)?.id ?? 0;
      const page = await this.ask<Events>("GET", `/api/events?since=${since}&limit=1000`);
      if (page.events.length === 0) return all;
      all.push(...page.events);
    }
  }

  private readonly made = new Map<string, Promise<string>>();

  /** Returns a token that may do so much, made when it is first wanted. */
  token(scope: "read" | "operate" = "read"): Promise<string> {
    const known = this.made.get(scope);
    if (known !== undefined) return known;
    const made = this.json<MadeToken>("token", "create", "test", "--scope", scope);
    const secret = made.then((it) => it.secret);
    this.made.set(scope, secret);
    return secret;
  }

  /** Asks the daemon over its port, as a script does that may operate, and returns what it answered. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = {
      authorization: `Bearer ${await this.token("operate")}`,
    };
    if (body !== undefined) headers["content-type"] = "application/json";
    const said = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(this.address(path), { method, headers, ...said });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Returns a link by which one browser signs in, once. */
  async link(): Promise<string> {
    const { stdout } = await this.run(["open"]);
    return stdout.trim();
  }

  address(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Ends all that was started in this home, and throws if anything is left. */
  async close(): Promise<void> {
    if (this.daemon === null) await this.start();
    const daemon = this.daemon;
    const down = await this.run(["down", "--all"]);
    if (daemon?.exitCode === null && daemon.signalCode === null) {
      const ended = once(daemon, "exit");
      if (down.code !== 0) daemon.kill("SIGKILL");
      await ended;
    }
    const left = await leftOf(this.home);
    for (const { pid } of left) process.kill(pid, "SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    if (down.code !== 0) throw new Error(`cmux down: ${down.stderr}`);
    if (left.length > 0) throw new Error(`left behind: ${JSON.stringify(left)}`);
  }
}

/** Returns what is left of a home once all had time to end: a client of tmux does so when it hears that its daemon has. */
async function leftOf(home: string): Promise<ReturnType<typeof processesOf>> {
  await until("nothing is left", () => processesOf(home).length === 0).catch(() => {});
  return processesOf(home);
}

/** Returns the processes that run in a home: its name is in their arguments or their environment. */
function processesOf(home: string): Array<{ pid: number; command: string }> {
  const found = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const [command, environment] = ["cmdline", "environ"].map((file) =>
      read(`/proc/${pid}/${file}`),
    );
    if (command === undefined || environment === undefined) continue;
    if (command.includes(home) || environment.includes(home)) {
      found.push({ pid, command: command.replaceAll("\0", " ") });
    }
  }
  return found;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
