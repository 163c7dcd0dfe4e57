// From what a file says to what the service reads: sections become parts of the configuration, paths
// become absolute, identity becomes what the library takes.

import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import type { IdentityOptions } from "sluice/http";
import type {
  Config,
  ControlConfig,
  EnvoyTlsConfig,
  LedgerConfig,
  RouteConfig,
  RulesSource,
  StoreConfig,
  UpstreamTlsConfig,
} from "./config.js";
import type { FileValues } from "./description/file.js";
import { toAdaptive } from "./to-adaptive.js";

type EnvoyTlsValues = NonNullable<NonNullable<FileValues["envoy"]>["tls"]>;
type UpstreamTlsValues = NonNullable<FileValues["upstreams"][string]["tls"]>;

/** Makes a path of a file absolute. */
export type ResolvePath = (path: string) => string;

/** Paths in a configuration are relative to its file; without one, to the working directory. */
export function toResolver(file: string | undefined): ResolvePath {
  const folder = file === undefined ? process.cwd() : dirname(resolve(file));
  return (path) => resolve(folder, path);
}

/** What a configuration is made of besides its values. */
export interface BuildOptions {
  readonly file: string | undefined;
  readonly identity: IdentityOptions;
  readonly at: ResolvePath;
}

/** The configuration, out of values that are known to be good. */
export function buildConfig(values: FileValues, { file, identity, at }: BuildOptions): Config {
  return {
    file,
    ...values.server,
    gateway: toGateway(values.gateway, at),
    decision: values.decision,
    envoy: toEnvoy(values.envoy, at),
    admin: values.admin,
    upstreams: toUpstreams(values.upstreams, at),
    routes: values.routes.map(toRoute),
    store: toStore(values),
    regions: values.regions,
    identity,
    ...toMmdbFiles(values.identity, at),
    apiKeys: toApiKeys(values.identity),
    responses: toResponses(values.responses),
    ...(values.challenge === undefined ? {} : { challenge: values.challenge }),
    rules: toRules(values.rules, at),
    lists: values.lists && { deny: values.lists.deny.map(at), allow: values.lists.allow.map(at) },
    control: toControl(values, at),
    ledger: toLedger(values, at),
    telemetry: toTelemetry(values),
  };
}

const LOOKUPS_PER_SECOND = 100;

function toApiKeys(identity: FileValues["identity"]): Config["apiKeys"] {
  const { apiKeys, unknownKeys = "refuse", keyLookupsPerSecond = LOOKUPS_PER_SECOND } = identity;
  if (apiKeys === undefined) return undefined;
  return { unknownKeys, lookupsPerSecond: keyLookupsPerSecond };
}

/** Absent if there are none. */
function toMmdbFiles({ mmdb }: FileValues["identity"], at: ResolvePath): Pick<Config, "mmdbFiles"> {
  return mmdb.length === 0 ? {} : { mmdbFiles: mmdb.map(at) };
}

function toGateway(gateway: FileValues["gateway"], at: ResolvePath): Config["gateway"] {
  if (gateway === undefined) return undefined;
  const { tls, rateLimitPath, requestIdHeader, usagePath, ...rest } = gateway;
  return {
    ...rest,
    tls: tls === undefined ? undefined : { certFile: at(tls.certFile), keyFile: at(tls.keyFile) },
    rateLimitPath: rateLimitPath === false ? undefined : rateLimitPath,
    requestIdHeader: requestIdHeader?.toLowerCase(),
    usagePath: usagePath === false ? undefined : usagePath,
  };
}

function toEnvoy(envoy: FileValues["envoy"], at: ResolvePath): Config["envoy"] {
  if (envoy === undefined) return undefined;
  const { http, tls, files, responseHeaders, requestHeaders, ...rest } = envoy;
  return {
    ...rest,
    http,
    tls: tls === undefined ? undefined : toEnvoyTls(tls, at),
    files: files.map(at),
    responseHeaders,
    requestHeaders,
  };
}

function toEnvoyTls(
  { certFile, keyFile, clientCaFile }: EnvoyTlsValues,
  at: ResolvePath,
): EnvoyTlsConfig {
  return {
    certFile: at(certFile),
    keyFile: at(keyFile),
    clientCaFile: clientCaFile === undefined ? undefined : at(clientCaFile),
  };
}

function toRoute({ host, adaptive, ...route }: FileValues["routes"][number]): RouteConfig {
  return { ...route, host, adaptive: toAdaptive(adaptive) };
}

function toUpstreams(upstreams: FileValues["upstreams"], at: ResolvePath): Config["upstreams"] {
  return new Map(
    Object.entries(upstreams).map(([name, { tls, adaptive, ...upstream }]) => [
      name,
      {
        name,
        ...upstream,
        tls: tls === undefined ? undefined : toUpstreamTls(tls, at),
        adaptive: toAdaptive(adaptive),
      },
    ]),
  );
}

function toUpstreamTls(
  { caFile, serverName, certFile, keyFile, verify }: UpstreamTlsValues,
  at: ResolvePath,
): UpstreamTlsConfig {
  const atOrNone = (file: string | undefined) => (file === undefined ? undefined : at(file));
  return {
    caFile: atOrNone(caFile),
    serverName,
    certFile: atOrNone(certFile),
    keyFile: atOrNone(keyFile),
    verify,
  };
}

/** What the file leaves out is reported here, not there: whether it may be said depends on the kind. */
const STORE_DEFAULTS = { keysMax: 1_000_000, timeoutMs: 50, failReadiness: false };

function toStore({ store, regions, identity }: FileValues): StoreConfig {
  const { keySecret } = identity;
  const { kind, onStoreFailure, keysMax, url, keyPrefix, timeoutMs, failReadiness } = store;
  if (kind === "memory") {
    return { kind, onStoreFailure, keysMax: keysMax ?? STORE_DEFAULTS.keysMax };
  }
  return {
    kind,
    onStoreFailure,
    url: url ?? regions?.stores[regions.self]?.url ?? "",
    keyPrefix,
    timeoutMs: timeoutMs ?? STORE_DEFAULTS.timeoutMs,
    failReadiness: failReadiness ?? STORE_DEFAULTS.failReadiness,
    ...(keySecret === undefined ? {} : { keySecret }),
  };
}

function toTelemetry({ telemetry, regions }: FileValues): Config["telemetry"] {
  if (regions === undefined) return telemetry;
  const total = Object.values(regions.stores).reduce((sum, { weight }) => sum + weight, 0);
  const regionShare = (regions.stores[regions.self]?.weight ?? 0) / total;
  const region = telemetry.region === "local" ? regions.self : telemetry.region;
  return { ...telemetry, region, regionShare };
}

/** How answers look, as the library takes it. */
export function toResponses({
  partitionKey,
  ...rest
}: FileValues["responses"]): Config["responses"] {
  return partitionKey === undefined ? rest : { ...rest, partitionKey };
}

const NO_RULES = { version: 1, rules: [] };

function toRules(rules: FileValues["rules"], at: ResolvePath): RulesSource {
  if (typeof rules?.file === "string") return { file: at(rules.file) };
  return { inline: rules ?? NO_RULES };
}

function toControl(values: FileValues, at: ResolvePath): ControlConfig | undefined {
  const { control, admin, rules } = values;
  if (control === undefined) return undefined;
  const { port } = admin.listen;
  const common = {
    snapshotFile: at(control.snapshot ?? `sluice-${port}.snapshot`),
    staleMsMax: control.staleMsMax,
    node: control.node ?? `${hostname()}:${port === 0 ? process.pid : port}`,
    hasRules: rules !== undefined,
  };
  const { database, follow: url = "", token = "", caFile } = control;
  if (database !== undefined)
    return { kind: "database", database: toDatabaseUrl(database, at), ...common };
  return {
    kind: "follow",
    url,
    token,
    caFile: caFile === undefined ? undefined : at(caFile),
    ...common,
  };
}

const RESERVATION_MS = 600_000;
const DELIVERIES_KEPT_MS = 30 * 86_400_000;

function toLedger({ ledger, control }: FileValues, at: ResolvePath): LedgerConfig | undefined {
  const database = ledger?.database ?? control?.database;
  if (ledger === undefined && database === undefined) return undefined;
  const webhooks = Object.entries(ledger?.webhooks ?? {}).map(([name, webhook]) => ({
    name,
    url: webhook.url,
    secrets: [
      webhook.secret,
      ...(webhook.previousSecret === undefined ? [] : [webhook.previousSecret]),
    ],
    isEnabled: webhook.enabled,
    timeoutMs: webhook.timeoutMs,
    caFile: webhook.caFile === undefined ? undefined : at(webhook.caFile),
  }));
  return {
    database: database === undefined ? undefined : toDatabaseUrl(database, at),
    reservationMs: ledger?.reservationMs ?? RESERVATION_MS,
    deliveriesKeptMs: ledger?.deliveriesKeptMs ?? DELIVERIES_KEPT_MS,
    webhooks,
  };
}

const FILE_SCHEME = /^file:(?:\/\/)?/;

function toDatabaseUrl(url: string, at: ResolvePath): string {
  return FILE_SCHEME.test(url) ? `file:${at(url.replace(FILE_SCHEME, ""))}` : url;
}
