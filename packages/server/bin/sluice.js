#!/usr/bin/env node
// The file that npm links as `sluice`. It is here before the first build, so that a fresh clone has the
// command too; everything else is built.
import "../dist/cli/main.js";
