/** A bar of filters below a page's head. The address holds what is chosen. */

import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button";
import { classes } from "./classes";
import { type Option, Select } from "./field";

export type Filter = {
  label: string;
  /** What it is called if nothing is filtered and there is room. */
  all: string;
  value: string | undefined;
  options: ReadonlyArray<Option>;
  onChange: (value: string | undefined) => void;
};

type Props = {
  filters: ReadonlyArray<Filter>;
  onClear: () => void;
  /** Whether more than these is filtered, which `onClear` clears, too. */
  isFiltered?: boolean;
  /** Takes no room on a screen where something else is in the place of what is filtered. */
  isHiddenWhenNarrow?: boolean;
  /** What is before the filters: a field to search in. */
  children?: ReactNode;
};

/** The value of no filter, which a choice cannot have empty. */
const ALL = "*";

export function FilterBar(props: Props) {
  const { filters, onClear, isFiltered, isHiddenWhenNarrow, children } = props;
  const isAny = isFiltered || filters.some(({ value }) => value !== undefined);
  return (
    <div
      className={classes(
        "shrink-0 flex-wrap items-center gap-2 border-b border-edge px-3 py-2 rail:px-4",
        isHiddenWhenNarrow ? "hidden wide:flex" : "flex",
      )}
    >
      {children}
      {filters.map((filter) => (
        <div key={filter.label} className="min-w-24 flex-1 rail:w-40 rail:flex-none">
          <FilterChoice filter={filter} />
        </div>
      ))}
      {isAny && (
        <Button look="ghost" icon={X} onClick={onClear}>
          Clear
        </Button>
      )}
    </div>
  );
}

function FilterChoice({ filter }: { filter: Filter }) {
  const { label, all, value, options, onChange } = filter;
  const isListed = value === undefined || options.some((option) => option.value === value);
  return (
    <Select
      bare
      className="w-full"
      label={label}
      value={value ?? ALL}
      onChange={(next) => onChange(next === ALL ? undefined : next)}
      options={[
        {
          value: ALL,
          label: (
            <>
              <span className="hidden rail:inline">{all}</span>
              <span className="rail:hidden">{label}</span>
            </>
          ),
        },
        ...(isListed ? [] : [{ value, label: value }]),
        ...options,
      ]}
    />
  );
}
