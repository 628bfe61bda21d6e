/** The tests in a browser: the real daemon, tmux, scripted agents, and the system's Chromium. */

import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";

/** Names what failed once more, at the very end: of a long log that is often all that is kept. */
const names: Reporter = {
  onTestRunEnd(files) {
    for (const file of files) {
      for (const test of file.children.allTests("failed")) {
        const why = test.result().errors?.[0]?.message.split("\n")[0] ?? "";
        console.log(`failed: ${file.relativeModuleId} > ${test.fullName}: ${why}`);
      }
    }
  },
};

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["browser/**/*.spec.ts"],
    reporters: ["default", names],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Each file has a daemon and a browser: side by side they would measure each other.
    fileParallelism: false,
  },
});
