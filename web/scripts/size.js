/** Says how much JavaScript a browser loads before it shows something, and fails if that is too much. */

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 350 * 1024;

const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

/** Returns the files that are loaded with a chunk, without those that are loaded when needed. */
function loaded(name, seen = new Set()) {
  const chunk = manifest[name];
  if (seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const other of chunk.imports ?? []) loaded(other, seen);
  return seen;
}

const files = [...loaded("index.html")].filter((file) => file.endsWith(".js"));
let total = 0;
for (const file of files) {
  const bytes = gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length;
  total += bytes;
  console.log(`${(bytes / 1024).toFixed(1).padStart(8)} KB  ${file}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} KB  in all, of ${BUDGET_BYTES / 1024} KB`);
if (total > BUDGET_BYTES) {
  console.error("The first load is too large: load something of it when it is needed.");
  process.exit(1);
}
