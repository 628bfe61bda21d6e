/** Where short notes are shown. */

import { CircleAlert, CircleCheck, X } from "lucide-react";
import { dismiss, holdToasts, type Toast, useToasts } from "../shared/toast";

export function Toasts() {
  const toasts = useToasts();
  return (
    <section
      aria-label="Notes"
      aria-live="polite"
      onPointerEnter={() => holdToasts(true)}
      onPointerLeave={() => holdToasts(false)}
      onFocus={() => holdToasts(true)}
      onBlur={() => holdToasts(false)}
      className="pointer-events-none fixed right-3 bottom-16 z-50 flex w-[min(22rem,calc(100vw-1.5rem))] flex-col gap-2 rail:bottom-4 rail:right-4"
    >
      {toasts.map((toast) => (
        <Note key={toast.id} toast={toast} />
      ))}
    </section>
  );
}

function Note({ toast }: { toast: Toast }) {
  const { id, title, detail, tone, action } = toast;
  const Icon = tone === "failed" ? CircleAlert : CircleCheck;
  return (
    <div
      role={tone === "failed" ? "alert" : "status"}
      className="appears pointer-events-auto flex items-start gap-2.5 rounded-lg border border-edge bg-panel p-3 shadow-overlay"
    >
      <Icon
        aria-hidden
        size={16}
        className={`mt-0.5 shrink-0 ${tone === "failed" ? "text-failed" : "text-idle"}`}
      />
      <div className="min-w-0 flex-1">
        <p className="font-medium break-words">{title}</p>
        {detail && <p className="break-words text-quiet">{detail}</p>}
        {action && (
          <button
            type="button"
            className="mt-1 font-medium text-accent hover:underline"
            onClick={() => {
              dismiss(id);
              action.run();
            }}
          >
            {action.label}
          </button>
        )}
      </div>
      <button
        type="button"
        aria-label="Dismiss"
        onClick={() => dismiss(id)}
        className="-mt-1 -mr-1 inline-flex size-7 items-center justify-center rounded-md text-quiet hover:bg-hover"
      >
        <X aria-hidden size={14} />
      </button>
    </div>
  );
}
