// All benchmarks, in the order in which they run. docs/benchmarks.md explains the same ids; a test
// compares the two.

import { slidingCounter } from "./accuracy/sliding-counter.js";
import type { Bench } from "./bench.js";
import { evict } from "./bounded/evict.js";
import { keyBytes, keyLookup } from "./control/keys.js";
import { controlPublish } from "./control/publish.js";
import { controlQuiet } from "./control/quiet.js";
import { controlStart } from "./control/start.js";
import { dashboardFirstPaint } from "./dashboard/first-paint.js";
import { dashboardCost, dashboardPages } from "./dashboard/live.js";
import { dashboardWeight } from "./dashboard/weight.js";
import { express, fastify, node } from "./http/throughput.js";
import { importCore, importExpress } from "./import/import.js";
import { ledgerGroup, ledgerHot, ledgerSqlite } from "./ledger/group-commit.js";
import { ledgerLatency } from "./ledger/latency.js";
import { ledgerLeased } from "./ledger/leased.js";
import { ledgerVerify } from "./ledger/verify.js";
import { adversarial } from "./memory/adversarial.js";
import { algorithms } from "./memory/algorithms.js";
import { bytesBucket, bytesSliding } from "./memory/bytes.js";
import { churn } from "./memory/churn.js";
import { floor } from "./memory/floor.js";
import { heap } from "./memory/heap.js";
import { pause } from "./memory/pause.js";
import { fewKeys, overExpress, overFlexible, overMap } from "./memory/speed.js";
import { bytes } from "./redis/bytes.js";
import { cpu } from "./redis/cpu.js";
import { eventual } from "./redis/eventual.js";
import { flood } from "./redis/flood.js";
import { latency } from "./redis/latency.js";
import { leased } from "./redis/leased.js";
import { leasedCommands } from "./redis/leased-commands.js";
import { strict, threeRules } from "./redis/strict.js";
import { scale } from "./rules/scale.js";
import { three } from "./rules/three.js";
import { batch } from "./service/batch.js";
import { decide } from "./service/decide.js";
import { envoy } from "./service/envoy.js";
import { gatewayNginx, gatewayNode, refusalBytes, reject } from "./service/gateway.js";
import { gatewayLatency } from "./service/gateway-latency.js";
import { ramp } from "./service/ramp.js";
import { rulesBytes, rulesScale } from "./service/rules-scale.js";
import { settle } from "./service/settle.js";
import { workersEnvoy, workersGateway, workersRefuse } from "./workers/workers.js";

export const benches: readonly Bench[] = [
  overMap,
  fewKeys,
  overFlexible,
  overExpress,
  churn,
  bytesBucket,
  bytesSliding,
  heap,
  pause,
  adversarial,
  evict,
  algorithms,
  floor,
  slidingCounter,
  strict,
  cpu,
  threeRules,
  leased,
  leasedCommands,
  flood,
  eventual,
  bytes,
  latency,
  three,
  scale,
  node,
  express,
  fastify,
  importExpress,
  importCore,
  gatewayNode,
  gatewayNginx,
  reject,
  gatewayLatency,
  rulesScale,
  rulesBytes,
  refusalBytes,
  settle,
  ramp,
  decide,
  batch,
  envoy,
  workersGateway,
  workersRefuse,
  workersEnvoy,
  keyLookup,
  keyBytes,
  controlPublish,
  controlStart,
  controlQuiet,
  ledgerGroup,
  ledgerHot,
  ledgerSqlite,
  ledgerLeased,
  ledgerLatency,
  ledgerVerify,
  dashboardWeight,
  dashboardCost,
  dashboardPages,
  dashboardFirstPaint,
];

/** The benchmarks whose id starts with one of `names`; all if there are none. */
export function selectBenches(names: readonly string[]): readonly Bench[] {
  if (names.length === 0) return benches;
  return benches.filter(({ id }) => names.some((name) => id.startsWith(name)));
}

/** The names that no id starts with. */
export function unknownNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !benches.some(({ id }) => id.startsWith(name)));
}
