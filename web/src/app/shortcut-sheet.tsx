/** The sheet of all shortcuts that work where one is. */

import { Dialog, DialogBody } from "../shared/dialog";
import { Kbd } from "../shared/kbd";
import { type Shortcut, useAllShortcuts } from "../shared/keys";
import { setOpened, useOpened } from "./opened";

export function ShortcutSheet() {
  const isOpen = useOpened() === "shortcuts";
  const shortcuts = useAllShortcuts();
  const groups = new Map<string, Shortcut[]>();
  for (const shortcut of shortcuts) {
    groups.set(shortcut.group, [...(groups.get(shortcut.group) ?? []), shortcut]);
  }
  return (
    <Dialog open={isOpen} onClose={() => setOpened(null)} title="Keyboard shortcuts">
      <DialogBody>
        <div className="flex flex-col gap-4">
          {[...groups].map(([group, members]) => (
            <section key={group}>
              <h3 className="pb-1 text-xs font-medium text-faint">{group}</h3>
              <dl>
                {members.map(({ keys, label }) => (
                  <div key={`${keys} ${label}`} className="flex items-center justify-between py-1">
                    <dt>{label}</dt>
                    <dd>
                      <Kbd keys={keys} />
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
        </div>
      </DialogBody>
    </Dialog>
  );
}
