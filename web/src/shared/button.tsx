/** Buttons: with words, and with an icon alone. */

import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes";
import { Tooltip } from "./tooltip";

type Look = "plain" | "primary" | "danger" | "ghost";

const LOOKS: Readonly<Record<Look, string>> = {
  plain: "border border-edge-strong bg-panel text-ink hover:bg-hover",
  primary: "border border-transparent bg-accent text-accent-ink hover:opacity-90",
  danger: "border border-transparent bg-failed text-panel hover:opacity-90",
  ghost: "border border-transparent text-quiet hover:bg-hover hover:text-ink",
};

const BASE =
  "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap " +
  "transition-colors duration-75 disabled:pointer-events-none disabled:opacity-50";

export type ButtonProps = Omit<ComponentProps<"button">, "type"> & {
  look?: Look;
  type?: "button" | "submit";
  icon?: LucideIcon;
  /** Whether what it does is under way. */
  busy?: boolean;
  children: ReactNode;
};

/** A button with words on it. */
export function Button(props: ButtonProps) {
  const { look = "plain", type = "button", icon, busy, className, children, ...rest } = props;
  const Icon = busy ? LoaderCircle : icon;
  return (
    <button
      type={type}
      className={classes(BASE, LOOKS[look], "h-8 px-3 text-sm", className)}
      aria-busy={busy || undefined}
      {...rest}
      disabled={busy || rest.disabled}
    >
      {Icon && <Icon aria-hidden size={15} className={busy ? "turning" : undefined} />}
      {children}
    </button>
  );
}

export type IconButtonProps = Omit<ComponentProps<"button">, "type" | "children"> & {
  icon: LucideIcon;
  /** What it does, which is its accessible name and its tooltip. */
  label: string;
  look?: Look;
  /** Has no tooltip, where there are many of the same. */
  bare?: boolean;
};

/** A button with an icon alone, whose name is shown when it is pointed at. */
export function IconButton(props: IconButtonProps) {
  const { icon: Icon, label, look = "ghost", bare, className, ...rest } = props;
  const button = (
    <button
      type="button"
      aria-label={label}
      className={classes(BASE, LOOKS[look], "size-8", className)}
      {...rest}
    >
      <Icon aria-hidden size={16} />
    </button>
  );
  return bare ? button : <Tooltip text={label}>{button}</Tooltip>;
}
