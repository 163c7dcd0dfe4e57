// One test run for the whole workspace. Two workers fit the smallest machine we
// support; the time limit leaves room for long property runs on a busy one.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/**/*.test.ts", "{bench,examples,scripts,test}/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "**/.build/**"],
    globalSetup: "packages/test-servers/src/global-setup.ts",
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
