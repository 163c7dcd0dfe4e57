// One test run for the whole workspace, with a time limit that leaves room for long property runs on a busy machine.
// Starting a process and loading the sources again for each of 590 files took a quarter of a run. So most tests
// share four processes, one after the other. Those that need a process to themselves have one.

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that need a process to themselves, or run so long that it costs them nothing. */
const apart = [
  "{examples,scripts,sim,test}/**/*.test.ts",
  "packages/**/*.property.test.ts",
  // They replace modules or the environment of their process.
  "packages/server/src/database/sqlite-flush.test.ts",
  "packages/server/src/control/feed/follower-streams.test.ts",
  "packages/server/src/core/preview/long-draft.test.ts",
  "packages/server/src/core/rules/thread-reader.test.ts",
  "packages/test-servers/src/programs/find-server.test.ts",
  // They move the clock of their process, which never goes back.
  "packages/dashboard/test/frame.test.ts",
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
  // They look at the memory, the time, the ticks or the errors of their process.
  "bench/harness.test.ts",
  "packages/dashboard/test/{busy,longest-pause,responsive,without-control-plane}.test.ts",
  "packages/server/test/control/unknown-keys.test.ts",
  "packages/server/test/hardening/{long-values,memory,slow-clients}.test.ts",
  "packages/sluice/test/eviction-cost.test.ts",
  "packages/sluice/test/redis/error-replies.test.ts",
  "packages/server/src/core/collect-garbage.test.ts",
  "packages/sluice/src/http/exchange/node/tick-shape.test.ts",
  "packages/sluice/src/http/identity/api-keys/cached-key-resolver.test.ts",
  "packages/sluice/src/stores/memory/memory-store.test.ts",
];

/** Files among the others that take longest. Of a first run Vitest knows only sizes, and these are small. */
const long = [
  "packages/dashboard/test/access.test.ts",
  "packages/dashboard/test/attacks.test.ts",
  "packages/dashboard/test/every-page.test.ts",
  "packages/dashboard/test/fleet.test.ts",
  "packages/dashboard/test/key.test.ts",
  "packages/dashboard/test/live.test.ts",
  "packages/dashboard/test/playground.test.ts",
  "packages/dashboard/test/quotas.test.ts",
  "packages/dashboard/test/rules-edit.test.ts",
  "packages/server/src/admin/routes/control/control-routes.test.ts",
  "packages/server/src/cli/commands/control/control-output.test.ts",
  "packages/server/src/control/feed/feed.test.ts",
  "packages/server/src/core/suggest/suggest-limits.test.ts",
  "packages/server/src/ledger/webhooks/hostile-receivers.test.ts",
  "packages/server/src/service/fleet.test.ts",
  "packages/server/src/service/standby.test.ts",
  "packages/server/test/control/beside-long-rules.test.ts",
  "packages/server/test/control/follower-processes.test.ts",
  "packages/server/test/control/long-rules.test.ts",
  "packages/server/test/control/publish-stalls.test.ts",
  "packages/server/test/ledger/ledger-faults.test.ts",
  "packages/server/test/lifecycle/processes-control.test.ts",
  "packages/server/test/lifecycle/processes-life.test.ts",
  "packages/server/test/lifecycle/processes-listeners.test.ts",
  "packages/server/test/lifecycle/processes.test.ts",
  "packages/server/test/webhooks/killed-deliverer.test.ts",
  "packages/sluice/src/stores/redis/conformance.test.ts",
  "packages/sluice/src/testing/store-conformance.test.ts",
  "packages/sluice/test/redis/cluster-moves.test.ts",
  "packages/sluice/test/redis/cluster.test.ts",
  "packages/sluice/test/redis/node-redis.test.ts",
  "packages/sluice/test/redis/regions-standby.test.ts",
  "packages/sluice/test/redis/restarts.test.ts",
  "packages/sluice/test/redis/sentinel.test.ts",
];

/** Files apart, then long ones, then the rest: a long file at the end would keep one process waiting for the other. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ project, moduleId }: TestSpecification) => {
      if (project.name === "apart") return 0;
      return long.some((path) => moduleId.endsWith(path)) ? 1 : 2;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

const ignored = ["**/node_modules/**", "**/dist/**", "**/.build/**"];

export default defineConfig({
  test: {
    // What npm test has built needs no transforming: Node loads it as an application does, in less than half of the time.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
    globalSetup: "packages/test-servers/src/global-setup.ts",
    sequence: { sequencer: LongFirst },
    pool: "forks",
    // Two more than the smallest machine has processors, for when tests wait for servers and databases.
    maxWorkers: 4,
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
          include: ["{bench,packages}/**/*.test.ts"],
          exclude: [...ignored, ...apart],
          isolate: false,
        },
      },
    ],
  },
});
