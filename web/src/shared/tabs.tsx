/** Tabs over parts of a page. */

import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

type Props<T extends string> = {
  label: string;
  value: T;
  onChange: (value: T) => void;
  tabs: ReadonlyArray<{ value: T; label: ReactNode }>;
  children: ReactNode;
};

/** A row of tabs, and the panels below: one `TabPanel` each. The address should hold which is open. */
export function Tabs<T extends string>({ label, value, onChange, tabs, children }: Props<T>) {
  return (
    <Radix.Root
      value={value}
      onValueChange={(next) => onChange(next as T)}
      className="flex min-h-0 flex-1 flex-col"
    >
      <Radix.List
        aria-label={label}
        className="flex shrink-0 gap-1 overflow-x-auto border-b border-edge px-3"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="h-9 border-b-2 border-transparent px-2 font-medium whitespace-nowrap text-quiet hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {children}
    </Radix.Root>
  );
}

/** What one tab shows. It is there only while its tab is open. */
export function TabPanel({ value, children }: { value: string; children: ReactNode }) {
  return (
    <Radix.Content value={value} className="flex min-h-0 flex-1 flex-col focus:outline-none">
      {children}
    </Radix.Content>
  );
}
