/** What a browser is shown that is not let in. */

import { KeyRound } from "lucide-react";
import { Empty } from "../shared/empty";
import { useTitle } from "../shared/title";

export function SignedOut() {
  useTitle("Signed out");
  return (
    <main className="flex h-full items-center justify-center">
      <h1 className="sr-only">cmux</h1>
      <Empty
        icon={KeyRound}
        title="You are signed out"
        command="cmux open"
        action={
          <a href="/login" className="font-medium text-accent underline underline-offset-2">
            Use a password instead
          </a>
        }
      >
        Run this in a terminal on the machine that cmux runs on. It gives a link that signs you in,
        once and for two minutes.
      </Empty>
    </main>
  );
}
