// One test run for the whole workspace. Two workers fit the smallest machine we
// support; the time limit leaves room for long property runs on a busy one.
// Starting a process and loading the sources again for each of 400 files took a quarter of a run. So tests beside
// the code share two processes, one after the other. Those that need a process to themselves have one.

import { defineConfig } from "vitest/config";

/** Files that start or measure processes, or run so long that a process to themselves costs them nothing. */
const apart = [
  "packages/*/test/**/*.test.ts",
  "{bench,examples,scripts,sim,test}/**/*.test.ts",
  "packages/**/*.property.test.ts",
  // They replace modules or the environment of their process.
  "packages/server/src/database/sqlite-flush.test.ts",
  "packages/server/src/control/feed/follower-streams.test.ts",
  "packages/server/src/core/preview/long-draft.test.ts",
  "packages/server/src/core/rules/thread-reader.test.ts",
  "packages/test-servers/src/programs/find-server.test.ts",
  // They move the clock of their process, which never goes back.
  "packages/server/src/base/files/watch-files.test.ts",
  "packages/server/src/service/config-in-force.test.ts",
  "packages/server/src/service/service.test.ts",
  "packages/server/src/workers/channel/request-channel.test.ts",
  "packages/server/src/workers/supervised-worker.test.ts",
  "packages/sluice/src/base/clock.test.ts",
  "packages/sluice/src/http/compat/express-rate-limit/express-compat.test.ts",
  "packages/sluice/src/http/compat/express-rate-limit/original-suite.test.ts",
  "packages/sluice/src/http/compat/fastify-rate-limit/fastify-compat.test.ts",
  "packages/sluice/src/limiter/rate-limiter-flexible.test.ts",
  // They look at the memory, the time or the ticks of their process.
  "packages/server/src/core/collect-garbage.test.ts",
  "packages/sluice/src/http/exchange/node/tick-shape.test.ts",
  "packages/sluice/src/http/identity/api-keys/cached-key-resolver.test.ts",
  "packages/sluice/src/stores/memory/memory-store.test.ts",
];

const ignored = ["**/node_modules/**", "**/dist/**", "**/.build/**"];

export default defineConfig({
  test: {
    // What npm test has built needs no transforming: Node loads it as an application does, in less than half of the time.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    globalSetup: "packages/test-servers/src/global-setup.ts",
    pool: "forks",
    maxWorkers: 2,
    // Tests that wait for a server's answers rather than for the processor run beside each other.
    maxConcurrency: 16,
    // How long a poll continues, unless it says so itself: a busy machine is not a failure.
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: "apart", include: apart, exclude: ignored } },
      {
        extends: true,
        test: {
          name: "together",
          include: ["packages/*/src/**/*.test.ts"],
          exclude: [...ignored, ...apart],
          isolate: false,
        },
      },
    ],
  },
});
