/** Keeps what is known up to date: begins with the status, follows the log, asks for what it leaves open. */

import { inWords, ProblemError, whenSignedOut } from "../api/request";
import {
  listMessages,
  removeAgent,
  showAgent,
  showStatus,
  socketAddress,
  whoAmI,
} from "../api/routes";
import type { Agent, Event, Status } from "../wire";
import { getLive, onLive, setLive } from "./live";
import { lookBack } from "./look-back";
import { withQuestions } from "./questions";
import { reduce, type Want, withLooked, without, withStatus } from "./reduce";
import { refetching } from "./refetch";
import { follow, type Heard, type Socket, type Wire } from "./socket";
import { begun, type FleetState } from "./state";
import { getFleet, setFleet, tell } from "./store";

/** What is shown at least this far apart, so that a flood of events is drawn once a frame. */
const FRAME_MS = 16;
const RETRY_MS = 1_000;
const STATUS = "status";
const QUESTIONS = "questions";

let socket: Socket | null = null;
let knownAt = Date.now();
let isBeginning = false;
let wasLost = false;
/** Whether what is begun with does not go on from what was shown. */
let isAnew = false;

/** Begins to follow the daemon, for as long as the page is open. */
export function startFeed(): void {
  whenSignedOut(signOut);
  onLive(refetch.again);
  addEventListener("online", () => socket?.nudge());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    if (getLive().is === "signed-out") void comeBack();
    else socket?.nudge();
  });
  void begin();
}

/** Loads the page again, at its address, if this browser was let in meanwhile. */
async function comeBack(): Promise<void> {
  try {
    await whoAmI();
    location.reload();
  } catch {
    // It is still out, or nobody answers: what to do about it is on the page.
  }
}

/** Shows that this browser is out, and stops asking. */
export function signOut(): void {
  socket?.stop();
  socket = null;
  refetch.clear();
  setLive({ is: "signed-out" });
}

/** Asks how things are, and follows the log from there. */
async function begin(): Promise<void> {
  if (isBeginning) return;
  isBeginning = true;
  socket?.stop();
  socket = null;
  try {
    const state = await load();
    queue.length = 0;
    setFleet(state);
    if (isAnew) tell({ what: "reset" });
    isAnew = false;
    socket = follow({ since: state.head, log: state.log }, heard, world);
  } catch (error) {
    if (getLive().is === "signed-out") return;
    if (!(error instanceof ProblemError)) console.error(inWords(error).detail);
    setLive({ is: "reconnecting", knownAt });
    setTimeout(() => void begin(), RETRY_MS);
  } finally {
    isBeginning = false;
  }
}

async function load(): Promise<FleetState> {
  const status = await showStatus();
  const unread = status.mail.unread > 0 ? await listMessages({ to: "user", unread: true }) : null;
  return begun(status, unread?.messages ?? []);
}

const heard: Heard = {
  event(event) {
    queue.push(event);
    schedule();
  },
  vitals({ sample, health }) {
    knownAt = Date.now();
    const state = getFleet();
    if (state !== null) setFleet({ ...state, vital: sample, health });
  },
  reset() {
    isAnew = true;
    setLive({ is: "behind" });
    void begin();
  },
  live(state) {
    switch (state) {
      case "live":
        flush();
        setLive({ is: "live" });
        // It may be another daemon, of another version or in safe mode, of which the log does not tell.
        if (wasLost) refetch.want(STATUS);
        wasLost = false;
        refetch.want(QUESTIONS);
        return;
      case "behind":
        setLive({ is: "behind" });
        return;
      case "lost":
        flush();
        wasLost = true;
        if (getLive().is === "reconnecting") return;
        if (getFleet()?.vital == null) knownAt = Date.now();
        setLive({ is: "reconnecting", knownAt });
        return;
    }
  },
  barred: signOut,
  refused() {
    // A page is not told why a WebSocket was refused. If it was the login, this is answered with 401.
    whoAmI().catch(() => {});
  },
};

const world = {
  open: (path: string): Wire => new WebSocket(socketAddress(path)) as unknown as Wire,
  later(ms: number, then: () => void) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  now: Date.now,
};

/** Events that came since the last frame. */
const queue: Event[] = [];
let flushedAt = 0;
let isScheduled = false;

function schedule(): void {
  if (isScheduled) return;
  const waits = flushedAt + FRAME_MS - performance.now();
  if (waits <= 0) {
    flush();
    return;
  }
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    flush();
  }, waits);
}

function flush(): void {
  const events = queue.splice(0);
  let state = getFleet();
  if (state === null || events.length === 0) return;
  const wants: Want[] = [];
  for (const event of events) {
    const reduced = reduce(state, event);
    state = reduced.state;
    wants.push(...reduced.wants);
  }
  flushedAt = performance.now();
  knownAt = Date.now();
  setFleet(state);
  tell({ what: "events", events });
  wantAll(wants);
}

function wantAll(wants: ReadonlyArray<Want>): void {
  for (const want of wants) refetch.want(want.what === "agent" ? want.id : want.what);
}

const refetch = refetching(async (key) => {
  if (key === STATUS) setKnown(await showStatus());
  else if (key === QUESTIONS) await findQuestions();
  else await look(key);
});

/** Takes from a status what the log does not tell. Events that are in it already change nothing for long. */
function setKnown(status: Status): void {
  const state = getFleet();
  if (state === null) return;
  const { state: next, wants } = withStatus(state, status);
  setFleet(next);
  wantAll(wants);
}

/** Finds the questions that were open before the page was. */
async function findQuestions(): Promise<void> {
  const found = await lookBack();
  const state = getFleet();
  if (state !== null) setFleet(withQuestions(state, found));
}

async function look(id: string): Promise<void> {
  // It may have been forgotten since it was wanted.
  if (getFleet()?.gone.has(id)) return;
  try {
    const agent = await showAgent(id);
    const state = getFleet();
    if (state !== null) setFleet(withLooked(state, agent));
  } catch (error) {
    if (!(error instanceof ProblemError && error.status === 404)) throw error;
    const state = getFleet();
    if (state !== null) setFleet(without(state, id));
  }
}

/** Shows an agent as the daemon has just answered, before the log tells of it. */
export function learnAgent(agent: Agent): void {
  const state = getFleet();
  if (state !== null) setFleet(withLooked(state, agent));
}

/** Has the daemon forget an agent, and takes it away before the log tells of it. Nothing asks for it meanwhile. */
export async function forgetAgent(id: string): Promise<void> {
  await refetch.pause(id, async () => {
    await removeAgent(id);
    const state = getFleet();
    if (state !== null) setFleet(without(state, id));
  });
}
