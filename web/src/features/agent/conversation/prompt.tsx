/** What an agent was asked: by hand at its prompt, or by messages. */

import { User } from "lucide-react";
import type { ReactNode } from "react";
import { clock, moment } from "../../../shared/format";
import type { Time } from "../../../wire";
import { Cut } from "./cut";
import { deliveredIn, type Said } from "./delivered";
import type { Item } from "./items";
import { MessageLink } from "./message-link";

export function Prompt({ item }: { item: Extract<Item, { what: "prompt" }> }) {
  const said = item.messages.length > 0 ? deliveredIn(item.text) : null;
  return (
    <div className="my-1.5 flex flex-col gap-3 rounded-lg border border-edge bg-panel px-3 py-2">
      {said === null ? (
        <section>
          <Head at={item.at}>
            <span className="inline-flex items-center gap-1 font-medium">
              <User aria-hidden size={13} /> Prompt
            </span>
            {item.messages.map((id) => (
              <MessageLink key={id} id={id} said={undefined} />
            ))}
          </Head>
          <p className="break-words whitespace-pre-wrap">{item.text}</p>
        </section>
      ) : (
        said.map((one) => <Part key={one.message} said={one} at={item.at} />)
      )}
      <Cut isCut={item.text_cut} />
    </div>
  );
}

/** One message of a delivery. The line that an agent knows it by is there when it is wanted. */
function Part({ said, at }: { said: Said; at: Time | null }) {
  return (
    <section>
      <Head at={at}>
        <MessageLink id={said.message} said={said} />
        <details className="min-w-0 text-faint open:basis-full">
          <summary className="w-fit">as typed</summary>
          <code className="break-all">{said.header}</code>
        </details>
      </Head>
      <p className="break-words whitespace-pre-wrap">{said.body}</p>
    </section>
  );
}

function Head({ at, children }: { at: Time | null; children: ReactNode }) {
  return (
    <div className="mb-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-quiet">
      {children}
      <When at={at} />
    </div>
  );
}

/** When something was said, if that is known. */
function When({ at }: { at: Time | null }) {
  if (at === null) return null;
  return (
    <time dateTime={at} title={moment(at)} className="ml-auto shrink-0 text-xs text-faint">
      {clock(at)}
    </time>
  );
}
