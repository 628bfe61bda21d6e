/** What is shown in the place of a page that has failed. */

import { useQueryClient } from "@tanstack/react-query";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { ErrorNote } from "../shared/empty";

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const queries = useQueryClient();
  const again = () => {
    // It may have failed because of what it was told, which is asked for again.
    queries.removeQueries({ type: "inactive" });
    reset();
  };
  return <ErrorNote error={error} what="This page has failed" onRetry={again} />;
}
