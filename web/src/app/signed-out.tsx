/** What a browser is shown that is not let in. */

import { KeyRound } from "lucide-react";
import { Empty } from "../shared/empty";
import { useTitle } from "../shared/title";

type Place = Pick<Location, "pathname" | "search" | "hash">;

/** Returns where a password is asked for, and by which the way back to a place is found. */
export function loginAddress({ pathname, search, hash }: Place): string {
  return `/login?${new URLSearchParams({ next: `${pathname}${search}${hash}` })}`;
}

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
          <a
            href={loginAddress(location)}
            className="font-medium text-accent underline underline-offset-2"
          >
            Use a password instead
          </a>
        }
      >
        Run this in a terminal on the machine that cmux runs on. It gives a link that signs you in,
        once and for two minutes. This page goes on when you come back to it.
      </Empty>
    </main>
  );
}
