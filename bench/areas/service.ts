// The benchmarks of service, in the order in which they run.

import type { Bench } from "../bench.js";
import { batch } from "../service/batch.js";
import { decide } from "../service/decide.js";
import { envoy } from "../service/envoy.js";
import { gatewayNginx, gatewayNode, refusalBytes, reject } from "../service/gateway.js";
import { gatewayLatency } from "../service/gateway-latency.js";
import { ramp } from "../service/ramp.js";
import { rulesBytes, rulesScale } from "../service/rules-scale.js";
import { settle } from "../service/settle.js";

export const benches: readonly Bench[] = [
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
];
