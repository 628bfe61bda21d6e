/** The tests in a browser: the real daemon, tmux, scripted agents, and the system's Chromium. */

import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["browser/**/*.spec.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Each file has a daemon and a browser: side by side they would measure each other.
    fileParallelism: false,
  },
});
