// The paths of the admin port.

import type { IncomingMessage } from "node:http";
import { readMs } from "../base/clock.js";
import { ServerError, show } from "../base/errors.js";
import type { Core } from "../core/core.js";
import { type Input, readInput, type Verb } from "./admin-inputs.js";
import { type AdminReply, json, MethodError, problem, text } from "./admin-reply.js";
import type { ClearKeys } from "./clear-keys.js";
import * as verbs from "./operator-verbs.js";
import { toRulesView } from "./rules-view.js";
import type { AdminControl } from "./service-control.js";

/** What routes are given. */
export interface AdminContext {
  readonly core: Core;
  readonly control: AdminControl;
  /** Of the package. */
  readonly version: string;
  /** Who sees keys as they are. */
  readonly clearKeys: ClearKeys;
}

/** One request. */
export interface AdminRequest {
  readonly url: URL;
  readonly message: IncomingMessage;
  /** Parts of the path that differ. */
  readonly ids: readonly string[];
}

type Handler = (context: AdminContext, request: AdminRequest) => AdminReply | Promise<AdminReply>;

interface Route {
  readonly method: "GET" | "POST";
  /** `/v1/rules/{id}/disable`. */
  readonly name: string;
  readonly path: RegExp;
  readonly handle: Handler;
}

/** The status of a reload whose files can't be used. */
const UNUSABLE = 422;
/** Of the text format. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const ROUTES: readonly Route[] = [
  get("/metrics", async ({ control }) => text(await control.metrics(), METRICS_TYPE)),
  get("/v1/version", ({ core, version }) =>
    json({ name: "sluice", version, node: process.version, rules: core.policy.version }),
  ),
  get("/v1/rules", ({ core }) => json(toRulesView(core.policy))),
  get("/v1/top", answerTop),
  get("/v1/stats", ({ core }) => json(toStats(core))),
  post("/v1/reload", answerReload),
  post("/v1/rules/disable", (context, request) => answerSwitch(context, request, false)),
  post("/v1/rules/enable", (context, request) => answerSwitch(context, request, true)),
  post("/v1/rules/{id}/disable", (context, request) => answerSwitch(context, request, false)),
  post("/v1/rules/{id}/enable", (context, request) => answerSwitch(context, request, true)),
  verb("check", verbs.check),
  verb("peek", verbs.peek),
  verb("explain", verbs.explain),
  verb("reset", verbs.reset),
  verb("block", verbs.block),
  verb("unblock", verbs.unblock),
  verb("refund", verbs.refund),
];

/** These are answered before a request gets here, unless its method is wrong. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

/** What is answered, health apart: `GET /metrics`. The guide of operations lists the same. */
export const ROUTE_NAMES: readonly string[] = ROUTES.map(({ method, name }) => `${method} ${name}`);

/**
 * The answer to a request.
 *
 * @throws ServerError if there is no such path, or it answers another method.
 */
export function route(
  context: AdminContext,
  message: IncomingMessage,
  url: URL,
): Promise<AdminReply> {
  const fitting = ROUTES.filter(({ path }) => path.test(url.pathname));
  // HEAD is GET without its body, which Node leaves out by itself.
  const method = message.method === "HEAD" ? "GET" : message.method;
  const found = fitting.find((candidate) => candidate.method === method);
  if (found === undefined) throw toMiss(message, url, fitting);
  const ids = found.path.exec(url.pathname)?.slice(1).map(decode) ?? [];
  return Promise.resolve(found.handle(context, { url, message, ids }));
}

function toMiss({ method }: IncomingMessage, { pathname }: URL, fitting: readonly Route[]) {
  const methods = HEALTH_PATHS.has(pathname) ? ["GET"] : fitting.map((route) => route.method);
  if (methods.length === 0) return new ServerError("SLUICE_NOT_FOUND", show(pathname));
  const allowed = methods
    .flatMap((known) => (known === "GET" ? ["GET", "HEAD"] : known))
    .join(", ");
  return new MethodError(`${show(pathname)} answers ${allowed}, got ${show(method)}`, allowed);
}

function get(name: string, handle: Handler): Route {
  return { method: "GET", name, path: toPattern(name), handle };
}

function post(name: string, handle: Handler): Route {
  return { method: "POST", name, path: toPattern(name), handle };
}

function toPattern(name: string): RegExp {
  return new RegExp(`^${name.replaceAll("{id}", "([^/]+)")}$`);
}

function verb<V extends Verb>(
  name: V,
  run: (core: Core, input: Input<V>) => Promise<object>,
): Route {
  return post(`/v1/${name}`, async ({ core }, { message }) => {
    const input = await readInput(name, message);
    const answer = json(await run(core, input));
    // Who was meant is not logged, as nowhere else.
    if ("rule" in input)
      core.telemetry.log.info({ verb: name, rule: input.rule }, "operator command");
    return answer;
  });
}

/** A file that can't be used is no failure of the service: what was in force stays. */
async function answerReload(
  { core, control }: AdminContext,
  { message }: AdminRequest,
): Promise<AdminReply> {
  await readInput("none", message);
  try {
    await control.reload();
  } catch (error) {
    // What is wrong was logged where it was seen.
    core.telemetry.log.warn("reload by an operator failed");
    return problem(error, (status) => (status === 500 ? UNUSABLE : status));
  }
  return json({ reloaded: true, version: core.policy.version });
}

async function answerSwitch(
  { core, control }: AdminContext,
  { ids: [ruleId], message }: AdminRequest,
  isOn: boolean,
): Promise<AdminReply> {
  await readInput("none", message);
  return json(await verbs.switchRule(core, control, ruleId, isOn));
}

/** `?rule=login` and `?keys=clear`, which shows keys as they are to those who may see them. */
async function answerTop(
  { core, control, clearKeys }: AdminContext,
  { url, message }: AdminRequest,
): Promise<AdminReply> {
  const keys = url.searchParams.get("keys") ?? "hashed";
  if (keys !== "hashed" && keys !== "clear") {
    throw new ServerError(
      "SLUICE_REQUEST_INVALID",
      `keys must be hashed or clear, got ${show(keys)}`,
    );
  }
  if (keys === "clear") clearKeys.admit(message.headers);
  const options = { rule: url.searchParams.get("rule") ?? undefined, showsKeys: keys === "clear" };
  const report = await (control.top?.(options) ?? core.telemetry.top(options));
  return json({ version: core.policy.version, ...report });
}

function toStats({ policy, blindPolicy, store }: Core): Record<string, unknown> {
  return {
    version: policy.version,
    uptimeMs: Math.round(readMs()),
    memory: process.memoryUsage(),
    store: "stats" in store ? store.stats : null,
    policy: policy.stats,
    blindPolicy: blindPolicy?.stats ?? null,
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ServerError(
      "SLUICE_REQUEST_INVALID",
      `the path has a broken escape in ${show(part)}`,
    );
  }
}
