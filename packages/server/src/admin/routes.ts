// The table of routes, health apart. Everything that is answered is here, with the role that it needs.

import { toOpenApi } from "./openapi.js";
import { text } from "./replies/admin-reply.js";
import type { Route } from "./route.js";
import { route } from "./route.js";
import { accessTokenRoutes } from "./routes/control/access-token-routes.js";
import { apiKeyRoutes } from "./routes/control/api-key-routes.js";
import { auditRoutes } from "./routes/control/audit-routes.js";
import { blockRoutes } from "./routes/control/block-routes.js";
import { feedRoutes } from "./routes/control/feed-routes.js";
import { nodeSwitchRoutes } from "./routes/control/node-switch-routes.js";
import { overrideRoutes } from "./routes/control/override-routes.js";
import { planRoutes } from "./routes/control/plan-routes.js";
import { ruleSetRoutes } from "./routes/control/rule-set-routes.js";
import { switchRoutes } from "./routes/control/switch-routes.js";
import { tenantRoutes } from "./routes/control/tenant-routes.js";
import { webhookRoutes } from "./routes/control/webhook-routes.js";
import { counterRoutes } from "./routes/counters/counter-routes.js";
import { escalationRoutes } from "./routes/counters/escalation-routes.js";
import { correctionRoutes } from "./routes/ledger/correction-routes.js";
import { ledgerRoutes } from "./routes/ledger/ledger-routes.js";
import { liveRoutes } from "./routes/live-routes.js";
import { regionRoutes } from "./routes/region-routes.js";
import { serviceRoutes } from "./routes/service-routes.js";
import { sessionRoutes } from "./routes/session-routes.js";

const described: readonly Route[] = [
  ...serviceRoutes,
  ...regionRoutes,
  ...liveRoutes,
  ...counterRoutes,
  ...escalationRoutes,
  ...ruleSetRoutes,
  ...planRoutes,
  ...tenantRoutes,
  ...apiKeyRoutes,
  ...overrideRoutes,
  ...blockRoutes,
  ...switchRoutes,
  ...nodeSwitchRoutes,
  ...accessTokenRoutes,
  ...ledgerRoutes,
  ...correctionRoutes,
  ...auditRoutes,
  ...webhookRoutes,
  ...feedRoutes,
  ...sessionRoutes,
];

const openApi = route({
  method: "GET",
  path: "/v1/openapi.json",
  role: "open",
  summary: "This description, as OpenAPI 3.1.",
  reply: undefined,
  handle: ({ version }) => text(`${toOpenApi(ROUTES, version)}\n`, "application/json"),
});

/** Every route, in the order in which they are tried. */
export const ROUTES: readonly Route[] = [...described, openApi];

/** What is answered, health apart: `GET /metrics`. The guides list the same. */
export const ROUTE_NAMES: readonly string[] = ROUTES.map(({ method, path }) => `${method} ${path}`);
