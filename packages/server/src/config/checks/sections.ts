// Checks across sections: names exist, listeners that any host could reach have a
// token, and no two listeners share an address. A check runs if the sections that it looks at are valid.

import type { IdentityOptions } from "sluice/http";
import { isLoopback } from "../../base/http/loopback.js";
import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";
import type { ConfigSections, SectionName } from "../read-sections.js";
import type { ResolvePath } from "../to-config.js";
import { checkAdaptive } from "./adaptive.js";
import { checkControl } from "./control.js";
import { checkFiles } from "./files.js";
import { checkApiKeys, checkIdentity } from "./identity.js";
import { checkLedger } from "./ledger.js";
import { checkPlaces, toListenText } from "./places.js";
import { checkPolicies, readIdentity } from "./policies.js";
import { isRedisUrl, REDIS_URL_EXAMPLE } from "./redis-url.js";
import { checkRegions } from "./regions.js";
import { checkRoutes } from "./routes.js";
import { readRules } from "./rules.js";

/** Looks at sections that are good. */
interface Check {
  readonly needs: readonly SectionName[];
  readonly run: (values: FileValues, problems: ConfigProblems) => void;
}

const checks: readonly Check[] = [
  { needs: ["gateway", "decision", "envoy", "control"], run: checkListeners },
  { needs: ["gateway", "decision", "rules", "control"], run: checkRulesAreThere },
  { needs: ["gateway"], run: checkTimeouts },
  { needs: ["upstreams", "routes"], run: checkAdaptive },
  { needs: ["admin", "control"], run: checkAdmin },
  { needs: ["decision"], run: checkDecision },
  { needs: ["store", "regions"], run: checkStore },
  { needs: ["store", "regions", "server", "control"], run: checkRegions },
  { needs: ["identity"], run: checkIdentity },
  { needs: ["identity", "control"], run: checkApiKeys },
  { needs: ["control"], run: checkControl },
  { needs: ["ledger", "control"], run: checkLedger },
];

/** What checks have made of sections. */
export interface CheckedSections {
  /** Undefined if it has problems. */
  readonly identity: IdentityOptions | undefined;
}

/** Adds what is wrong between sections, and with the files that they name, to the problems of a sections. */
export function crossCheck(sections: ConfigSections, at: ResolvePath): CheckedSections {
  const { problems } = sections;
  for (const { needs, run } of checks) {
    if (sections.isGood(...needs)) run(sections.values as FileValues, problems);
  }
  checkRoutes(sections);
  checkFiles(sections, at);
  const rules = readRules(sections, at);
  if (rules !== undefined) checkPolicies(sections, rules);
  const identity = readIdentity(sections, at);
  // Last: what it reports would keep other checks from looking at these listeners.
  checkPlaces(sections);
  return { identity };
}

function checkListeners(values: FileValues, problems: ConfigProblems): void {
  const { gateway, decision, envoy, control } = values;
  // A control node may have the admin port alone.
  if (control?.database !== undefined) return;
  if (gateway === undefined && decision === undefined && envoy === undefined) {
    problems.add([], "opens no listener: it needs gateway, decision or envoy");
  }
}

function checkRulesAreThere(values: FileValues, problems: ConfigProblems): void {
  const { gateway, decision, rules, control } = values;
  if ((rules ?? control) !== undefined || (gateway ?? decision) === undefined) return;
  const listener = gateway === undefined ? "decision" : "gateway";
  problems.add(
    ["rules"],
    `is missing: ${listener} needs { file: rules.yaml }, or rules written here`,
  );
}

function checkTimeouts({ gateway }: FileValues, problems: ConfigProblems): void {
  if (gateway === undefined || gateway.requestTimeoutMs === 0) return;
  const { headersTimeoutMs, requestTimeoutMs } = gateway;
  if (headersTimeoutMs <= requestTimeoutMs) return;
  const seen = `got ${headersTimeoutMs} and ${requestTimeoutMs}`;
  problems.add(["gateway", "headersTimeoutMs"], `must be at most requestTimeoutMs, ${seen}`);
}

/** How access tokens of a control plane begin. */
const ACCESS_TOKEN_START = "slt_";

/**
 * With a control plane the admin port always asks for an access token. Such a token is never `admin.token`: the sluice
 * command reads its token from the variable that sets `admin.token`, and one of a viewer, left in the shell that starts
 * the service, would give its holder every right, beyond revocation.
 */
function checkAdmin({ admin, control }: FileValues, problems: ConfigProblems): void {
  if (admin.token?.startsWith(ACCESS_TOKEN_START)) {
    problems.add(
      ["admin", "token"],
      "must not be an access token of a control plane (slt_…): its holder would be admin, and it could not be " +
        "revoked. Unset SLUICE_ADMIN_TOKEN in the environment that starts the service, or set a secret of its own",
    );
  }
  if (control !== undefined) return;
  if (admin.token !== undefined || isLoopback(admin.listen.host)) return;
  problems.add(
    ["admin", "token"],
    `is missing: ${toListenText(admin.listen)} is open to other machines`,
  );
}

function checkDecision({ decision }: FileValues, problems: ConfigProblems): void {
  if (decision === undefined || decision.tokens.length > 0 || isLoopback(decision.listen.host))
    return;
  const seen = `${toListenText(decision.listen)} is open to other machines`;
  problems.add(["decision", "tokens"], `must have a token: ${seen}`);
}

const STORE_FIELDS = {
  memory: ["keysMax"],
  redis: ["url", "keyPrefix", "timeoutMs", "failReadiness"],
} as const;

function checkStore({ store, regions }: FileValues, problems: ConfigProblems): void {
  const other = store.kind === "memory" ? "redis" : "memory";
  for (const field of STORE_FIELDS[other]) {
    if (store[field] === undefined) continue;
    problems.add(
      ["store", field],
      `is only for kind ${other}, but the kind is ${store.kind}; remove it`,
    );
  }
  if (regions !== undefined && store.url !== undefined) {
    problems.add(
      ["store", "url"],
      "can't be set beside regions: with regions it is in regions.stores",
    );
  }
  if (store.kind === "redis" && store.url === undefined && regions === undefined) {
    problems.add(
      ["store", "url"],
      "is missing: kind redis needs one such as redis://127.0.0.1:6379",
    );
  }
  if (store.url !== undefined && !isRedisUrl(store.url)) {
    problems.add(["store", "url"], `must be ${REDIS_URL_EXAMPLE}`);
  }
}
