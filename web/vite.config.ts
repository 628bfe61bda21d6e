/** How the dashboard is built, tested, and tried out against a daemon. */

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const daemon = `http://127.0.0.1:${process.env["CMUX_PORT"] ?? 8000}`;

/** The daemon answers its own pages alone, so what this server passes on speaks in its name. */
const passed = {
  target: daemon,
  changeOrigin: true,
  ws: true,
  headers: { origin: daemon },
};

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: {
    host: "127.0.0.1",
    proxy: { "/api": passed, "/login": passed, "/plain.css": passed, "/icon.svg": passed },
  },
  build: {
    target: "es2022",
    // The daemon's policy loads nothing from `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // A style that could not be loaded once is never asked for again, unlike a script.
    cssCodeSplit: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    manifest: true,
  },
  test: { include: ["src/**/*.test.ts"] },
});
