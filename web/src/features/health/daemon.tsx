/** The daemon itself, and its store. */

import { TriangleAlert } from "lucide-react";
import { useFleet } from "../../feed/store";
import { Age, Ago } from "../../shared/age";
import { Command } from "../../shared/empty";
import { Fact } from "../../shared/facts";
import { bytes, moment } from "../../shared/format";
import { Section } from "../../shared/page";
import type { StoreNotice } from "../../wire";

export function DaemonSection() {
  const daemon = useFleet((state) => state.daemon);
  return (
    <Section title="Daemon">
      {daemon.safe_mode !== null && (
        <div className="border-b border-edge bg-failed-soft px-3 py-2 text-failed">
          <p className="font-medium">Safe mode: nothing but reading is possible.</p>
          <p className="break-words">{daemon.safe_mode}</p>
          <Command text="cmux doctor" />
        </div>
      )}
      <dl>
        <Fact name="Version">{daemon.version}</Fact>
        <Fact name="Process">{daemon.pid ?? "–"}</Fact>
        <Fact name="Guard">
          {daemon.guard_pid === null
            ? "None: nobody starts it again if it ends"
            : `Process ${daemon.guard_pid} starts it again if it ends`}
        </Fact>
        <Fact name="Up for">{daemon.started_at ? <Age at={daemon.started_at} /> : "–"}</Fact>
        <Fact name="Address">{daemon.address ?? "–"}</Fact>
        <Fact name="Home" copied={daemon.home} isCode />
      </dl>
    </Section>
  );
}

export function StoreSection() {
  const store = useFleet((state) => state.store);
  const head = useFleet((state) => state.head);
  const vital = useFleet((state) => state.vital);
  return (
    <Section title="Store">
      <dl>
        <Fact name="Events">{head.toLocaleString("en-US")}</Fact>
        <Fact name="Size">{bytes(vital?.store_bytes ?? store.bytes)}</Fact>
        <Fact name="Disk free">{bytes(vital?.free_bytes ?? store.free_bytes)}</Fact>
        <Fact name="Last snapshot">
          {store.last_snapshot_at === null ? (
            "None yet: one is made each day"
          ) : (
            <Ago at={store.last_snapshot_at} />
          )}
        </Fact>
        {store.why !== null && <Fact name="Trouble">{store.why}</Fact>}
      </dl>
      <Notices notices={store.notices} />
    </Section>
  );
}

/** What a person should know of the store. */
function Notices({ notices }: { notices: ReadonlyArray<StoreNotice> }) {
  if (notices.length === 0) return null;
  return (
    <ul aria-label="Notices" className="border-t border-edge">
      {notices.map(({ at, kind, text }) => (
        <li
          key={`${at} ${kind}`}
          className="flex gap-2 border-b border-edge px-3 py-2 last:border-b-0"
        >
          <TriangleAlert aria-hidden size={15} className="mt-0.5 shrink-0 text-asking" />
          <p className="min-w-0 break-words">
            {text} <span className="text-xs text-faint">{moment(at)}</span>
          </p>
        </li>
      ))}
    </ul>
  );
}
