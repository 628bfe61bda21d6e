/** Settings of this browser: how the dashboard looks, whether it calls, and who is let in. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { LogOut, Monitor, Moon, Sun } from "lucide-react";
import type { ReactNode } from "react";
import { closeSession, listSessions } from "../../api/routes";
import { type News, useNews } from "../../feed/store";
import { Ago } from "../../shared/age";
import { Badge } from "../../shared/badge";
import { Button } from "../../shared/button";
import { classes } from "../../shared/classes";
import { confirm } from "../../shared/confirm";
import { describeSessionHow } from "../../shared/describe";
import { ErrorNote, Skeleton } from "../../shared/empty";
import { moment } from "../../shared/format";
import { type NotifyState, setNotify, useNotify } from "../../shared/notify";
import { Column, Page, Section } from "../../shared/page";
import { setTheme, type Theme, useTheme } from "../../shared/theme";
import { toastError } from "../../shared/toast";
import type { Session } from "../../wire";
import { leave } from "./leave";

export function SettingsPage() {
  return (
    <Page
      title="Settings"
      actions={
        <Button icon={LogOut} onClick={() => void leave()}>
          Sign out
        </Button>
      }
    >
      <Column>
        <Section title="This browser" detail="Kept in this browser alone.">
          <ThemeRow />
          <NotifyRow />
        </Section>
        <Section title="Sessions" detail="The browsers that are signed in.">
          <Sessions />
        </Section>
      </Column>
    </Page>
  );
}

function Row({
  title,
  detail,
  children,
}: {
  title: string;
  detail: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-edge px-4 py-3 last:border-b-0">
      <div className="min-w-48 flex-1">
        <p className="font-medium">{title}</p>
        <p className="text-quiet">{detail}</p>
      </div>
      {children}
    </div>
  );
}

const THEMES: ReadonlyArray<{ value: Theme; label: string; icon: typeof Sun }> = [
  { value: "light", label: "Light", icon: Sun },
  { value: "dark", label: "Dark", icon: Moon },
  { value: "system", label: "System", icon: Monitor },
];

function ThemeRow() {
  const theme = useTheme();
  return (
    <Row title="Theme" detail="Light, dark, or as the system has it.">
      <fieldset className="flex rounded-md border border-edge-strong p-0.5">
        <legend className="sr-only">Theme</legend>
        {THEMES.map(({ value, label, icon: Icon }) => (
          <button
            key={value}
            type="button"
            aria-pressed={theme === value}
            onClick={() => setTheme(value)}
            className={classes(
              "flex h-7 items-center gap-1.5 rounded px-2.5",
              theme === value ? "bg-selected font-medium" : "text-quiet hover:text-ink",
            )}
          >
            <Icon aria-hidden size={14} />
            {label}
          </button>
        ))}
      </fieldset>
    </Row>
  );
}

/** Says how it stands with notifications. */
function describeNotify(state: NotifyState): string {
  switch (state) {
    case "on":
      return "This browser calls you when an agent asks, fails, or sends a question.";
    case "off":
      return "Be called when an agent asks, fails, or sends a question, while you look elsewhere.";
    case "denied":
      return "The browser was told not to. Allow notifications for this site in its settings.";
    case "unsupported":
      return "This browser cannot notify.";
  }
}

function NotifyRow() {
  const state = useNotify();
  return (
    <Row title="Notifications" detail={describeNotify(state)}>
      <Button
        disabled={state === "denied" || state === "unsupported"}
        aria-pressed={state === "on"}
        onClick={() => void setNotify(state !== "on")}
      >
        {state === "on" ? "Turn off" : "Turn on"}
      </Button>
    </Row>
  );
}

const SESSIONS = ["sessions"];

/** Returns whether another browser may be signed in now, or one less. */
function isOfSessions(news: News): boolean {
  switch (news.what) {
    case "events":
      return news.events.some(({ kind }) => kind === "session.opened" || kind === "session.over");
    case "reset":
      return true;
  }
}

function Sessions() {
  const queries = useQueryClient();
  useNews((news) => {
    if (isOfSessions(news)) void queries.invalidateQueries({ queryKey: SESSIONS });
  });
  const query = useQuery({ queryKey: SESSIONS, queryFn: ({ signal }) => listSessions(signal) });
  if (query.isPending) return <Skeleton className="m-4 h-9" />;
  if (query.isError) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  return query.data.sessions.map((session) => <SessionRow key={session.id} session={session} />);
}

function SessionRow({ session }: { session: Session }) {
  const queries = useQueryClient();
  const close = useMutation({
    mutationFn: () => closeSession(session.id),
    onSettled: () => queries.invalidateQueries({ queryKey: SESSIONS }),
    onError: (error) => toastError(error, "That browser is still signed in"),
  });
  const ask = async () => {
    const wanted = await confirm({
      title: "Sign this browser out?",
      detail: "Whoever uses it needs a new link of `cmux open` to come back.",
      action: "Sign out",
      danger: true,
    });
    if (wanted) close.mutate();
  };
  const opened = (
    <>
      Signed in <Ago at={session.opened_at} />, until {moment(session.expires_at)}
    </>
  );
  return (
    <Row title={describeSessionHow(session.how)} detail={opened}>
      {session.current ? (
        <Badge tone="idle">This one</Badge>
      ) : (
        <Button busy={close.isPending} onClick={() => void ask()}>
          Sign out
        </Button>
      )}
    </Row>
  );
}
