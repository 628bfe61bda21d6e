/** What is shown where there is nothing: why, and what to do. */

import { CircleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { inWords } from "../api/request";
import { Button } from "./button";
import { CopyButton } from "./copy";

type Props = {
  icon?: LucideIcon;
  title: string;
  children?: ReactNode;
  /** The very command that does it, to be copied. */
  command?: string;
  action?: ReactNode;
};

/** Says that there is nothing, and what to do about it. */
export function Empty({ icon: Icon, title, children, command, action }: Props) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-6 py-16 text-center">
      {Icon && <Icon aria-hidden size={28} strokeWidth={1.5} className="mb-1 text-faint" />}
      <h2 className="text-base font-semibold">{title}</h2>
      {children && <div className="text-quiet">{children}</div>}
      {command && <Command text={command} />}
      {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

/** A command to be run in a terminal, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <span className="mt-1 inline-flex max-w-full items-center gap-1 rounded-md border border-edge bg-sunken py-0.5 pr-0.5 pl-2.5">
      <code className="min-w-0 text-left break-words">{text}</code>
      <CopyButton what={text} text={text} />
    </span>
  );
}

type NoteProps = { error: unknown; what?: string; onRetry?: () => void };

/** Says what went wrong, in the place of what could not be shown. */
export function ErrorNote({ error, what, onRetry }: NoteProps) {
  const { title, detail } = inWords(error);
  return (
    <div
      role="alert"
      className="m-4 flex items-start gap-3 rounded-lg bg-failed-soft p-3 text-failed"
    >
      <CircleAlert aria-hidden size={16} className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{what ?? title}</p>
        <p className="break-words">{detail}</p>
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** The shape of what is about to come, at its final size. */
export function Skeleton({ className }: { className: string }) {
  return <div aria-hidden className={`skeleton ${className}`} />;
}
