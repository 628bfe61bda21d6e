/** Keys as they are on a keyboard. */

import { written } from "./keys";

/** Shows the keys of a shortcut. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className="inline-flex items-center gap-1">
      {written(keys).map((key) => (
        <kbd
          key={key}
          className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-edge-strong bg-sunken px-1 font-sans text-xs text-quiet"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
