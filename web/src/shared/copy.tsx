/** A button that copies something. */

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { classes } from "./classes";
import { copyText } from "./clipboard";
import { toastError } from "./toast";

type Props = {
  /** What is copied, as a person calls it: `the code`. */
  what: string;
  text: string | (() => string | Promise<string>);
  className?: string;
};

/** Copies a text, and says for a moment that it did. */
export function CopyButton({ what, text, className }: Props) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      const wanted = typeof text === "string" ? text : await text();
      setCopied(await copyText(wanted));
    } catch (error) {
      toastError(error, "It could not be copied");
    }
  };
  const Icon = isCopied ? Check : Copy;
  return (
    <button
      type="button"
      onClick={() => void copy()}
      aria-label={isCopied ? "Copied" : `Copy ${what}`}
      title={isCopied ? "Copied" : `Copy ${what}`}
      className={classes(
        "inline-flex size-7 shrink-0 items-center justify-center rounded text-quiet hover:bg-hover hover:text-ink",
        className,
      )}
    >
      <Icon aria-hidden size={14} />
    </button>
  );
}
