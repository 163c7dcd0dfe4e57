#!/usr/bin/env node
// The file that npm links as `sluice`. It is here before the first build, so that a fresh clone has the
// command too; everything else is built.
import { existsSync } from "node:fs";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(main)) await import(main.href);
else {
  console.error("sluice: this clone is not built yet; build first: npm run build");
  process.exitCode = 1;
}
