/** A tool that an agent used: what it was asked, and what came of it. */

import { Check, CircleDashed, CircleHelp, CornerDownRight, Wrench, X } from "lucide-react";
import { CopyButton } from "../../../shared/copy";
import { Scrolls } from "../../../shared/scrolls";
import { Cut } from "./cut";
import { Fold } from "./fold";
import type { Call, Result } from "./items";
import { fullOf, summaryOf } from "./summary";

/** A call, with its result once there is one. */
export function CallFace({ call, result }: { call: Call; result: Result | null }) {
  return (
    <Fold
      icon={Wrench}
      title={call.tool}
      summary={summaryOf(call.input)}
      end={<Outcome result={result} />}
      isMono
    >
      <Block title="Asked" text={fullOf(call.input)} isCut={call.input_cut} />
      {result !== null && <Block title="Answered" text={result.text} isCut={result.text_cut} />}
    </Fold>
  );
}

/** A result whose call is further up than what was loaded. */
export function ResultFace({ result }: { result: Result }) {
  return (
    <Fold
      icon={CornerDownRight}
      title="Result"
      summary={summaryOf(result.text)}
      end={<Outcome result={result} />}
      isMono
    >
      <Block title="Answered" text={result.text} isCut={result.text_cut} />
    </Fold>
  );
}

/** How a call went, as an icon and a word. */
function Outcome({ result }: { result: Result | null }) {
  const { icon: Icon, word, look } = outcomeOf(result);
  return (
    <span className={`inline-flex shrink-0 items-center gap-1 text-xs ${look}`}>
      <Icon aria-hidden size={13} />
      {word}
    </span>
  );
}

function outcomeOf(result: Result | null) {
  if (result === null) return { icon: CircleDashed, word: "no answer yet", look: "text-faint" };
  switch (result.ok) {
    case true:
      return { icon: Check, word: "ok", look: "text-idle" };
    case false:
      return { icon: X, word: "failed", look: "font-medium text-failed" };
    case null:
      return { icon: CircleHelp, word: "done", look: "text-faint" };
  }
}

function Block({ title, text, isCut }: { title: string; text: string; isCut: boolean }) {
  return (
    <section className="border-b border-edge px-3 py-2 last:border-b-0">
      <div className="flex items-center justify-between">
        <h3 className="text-xs font-medium text-faint">{title}</h3>
        {text !== "" && <CopyButton what={`what was ${title.toLowerCase()}`} text={text} />}
      </div>
      {text === "" ? (
        <p className="text-faint">Nothing</p>
      ) : (
        <Scrolls
          as="pre"
          className="max-h-96 overflow-auto text-xs break-words whitespace-pre-wrap"
        >
          {text}
        </Scrolls>
      )}
      <Cut isCut={isCut} />
    </section>
  );
}
