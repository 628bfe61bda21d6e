/** What is filled in: text and choices, each with its label. */

import { Check, ChevronDown } from "lucide-react";
import { Select as Radix } from "radix-ui";
import { type ComponentProps, type ReactNode, useId } from "react";
import { classes } from "./classes";

/** The look of what is typed into. How wide it is, is said where it is. */
export const INPUT =
  "rounded-md border border-edge-strong bg-panel px-2.5 text-base rail:text-sm text-ink " +
  "focus-visible:outline-2 focus-visible:outline-offset-0";

type Labelled = { label: string; hint?: ReactNode; error?: string | undefined };

/** A label over what it is for, and what is to be known or is wrong below. */
function Field(props: Labelled & { id: string; children: ReactNode }) {
  const { id, label, hint, error, children } = props;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children}
      {(error ?? hint) && (
        <p id={`${id}-note`} className={classes("text-xs", error ? "text-failed" : "text-quiet")}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

const about = (id: string, { hint, error }: Labelled) => ({
  "aria-describedby": (error ?? hint) ? `${id}-note` : undefined,
  "aria-invalid": error ? true : undefined,
});

export type TextFieldProps = Labelled & ComponentProps<"input">;

/** One line of text. */
export function TextField({ label, hint, error, className, ...rest }: TextFieldProps) {
  const id = useId();
  const said = { label, hint, error };
  return (
    <Field id={id} {...said}>
      <input
        id={id}
        {...about(id, said)}
        className={classes(INPUT, "h-8 w-full", className)}
        {...rest}
      />
    </Field>
  );
}

export type TextAreaProps = Labelled & ComponentProps<"textarea">;

/** Several lines of text. */
export function TextArea({ label, hint, error, className, ...rest }: TextAreaProps) {
  const id = useId();
  const said = { label, hint, error };
  return (
    <Field id={id} {...said}>
      <textarea
        id={id}
        {...about(id, said)}
        className={classes(INPUT, "min-h-20 w-full resize-y py-1.5", className)}
        {...rest}
      />
    </Field>
  );
}

export type Option = { value: string; label: ReactNode; note?: string; disabled?: boolean };

export type SelectProps = Labelled & {
  value: string;
  onChange: (value: string) => void;
  options: ReadonlyArray<Option>;
  placeholder?: string;
  /** Shows the label to screen readers alone, for filters in a bar. */
  bare?: boolean;
  className?: string;
};

/** One of several. */
export function Select(props: SelectProps) {
  const { label, hint, error, value, onChange, options, placeholder, bare, className } = props;
  const id = useId();
  const said = { label, hint, error };
  const root = (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.Trigger
        id={id}
        {...(bare ? { "aria-label": label } : {})}
        {...about(id, said)}
        className={classes(
          INPUT,
          "inline-flex h-8 items-center justify-between gap-2 text-left",
          !bare && "w-full",
          className,
        )}
      >
        <span className="truncate">
          <Radix.Value placeholder={placeholder} />
        </span>
        <ChevronDown aria-hidden size={14} className="shrink-0 text-quiet" />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          position="popper"
          sideOffset={4}
          collisionPadding={8}
          className="appears z-50 max-h-[min(24rem,var(--radix-select-content-available-height))] max-w-[min(24rem,calc(100vw-1rem))] min-w-(--radix-select-trigger-width) overflow-y-auto rounded-lg border border-edge bg-panel p-1 text-sm shadow-overlay"
        >
          <Radix.Viewport>
            {options.map((option) => (
              <Choice key={option.value} option={option} />
            ))}
          </Radix.Viewport>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
  if (bare) return root;
  return (
    <Field id={id} {...said}>
      {root}
    </Field>
  );
}

function Choice({ option }: { option: Option }) {
  return (
    <Radix.Item
      value={option.value}
      disabled={option.disabled ?? false}
      className="flex min-h-8 items-center gap-2 rounded-md px-2 py-1 outline-none data-[highlighted]:bg-hover data-[disabled]:opacity-55"
    >
      <span className="flex-1">
        <Radix.ItemText>{option.label}</Radix.ItemText>
        {option.note && <span className="block text-xs text-quiet">{option.note}</span>}
      </span>
      <Radix.ItemIndicator>
        <Check aria-hidden size={14} />
      </Radix.ItemIndicator>
    </Radix.Item>
  );
}
