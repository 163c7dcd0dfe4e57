// Servers that tests and benchmarks start, and ways to break them. Private: nothing of this
// is published.

export {
  JSON_FIELDS,
  type LoggedRequest,
  type LogLineFormat,
  makeTraffic,
  type TrafficShape,
  toAddress,
  toCommonTime,
  toLogLine,
} from "./access-logs.js";
export {
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
  startBrowser,
} from "./browser.js";
export { makeCertificate, makeExpiredCertificate } from "./certificate.js";
export { eventually, onStop, stopAll } from "./cleanup.js";
export { type Demo, startDemo } from "./demo.js";
export {
  type FaultCounters,
  FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from "./fault-proxy/fault-proxy.js";
export { makeFolder, removeFolder } from "./folder.js";
export { findFreePort } from "./free-port.js";
export { memoryInUse } from "./memory-in-use.js";
export { type PostgresServer, startPostgres } from "./postgres.js";
export { ensureProgram } from "./programs/find-program.js";
export { ensureRedisServer, findValkeyServer, type Machine } from "./programs/find-server.js";
export { type HaproxyOptions, startHaproxy } from "./proxies/haproxy.js";
export { type NginxOptions, startNginx } from "./proxies/nginx.js";
export type { ProxyProcess } from "./proxies/proxy-process.js";
export { ensurePythonGrpc } from "./python-grpc.js";
export { connectTo, RawClient, rawExchange } from "./raw-client.js";
export { type Cluster, type ClusterOptions, startCluster } from "./redis/cluster.js";
export { type RedisOptions, startRedis } from "./redis/redis.js";
export type { RedisConfig, RedisProcess } from "./redis/redis-process.js";
export { Push, RedisError, type Reply } from "./redis/resp.js";
export { type Address, RespConnection } from "./redis/resp-connection.js";
export { type SentinelGroup, type SentinelOptions, startSentinelGroup } from "./redis/sentinel.js";
export { slotOf } from "./redis/slot.js";
export type { SlotMigration } from "./redis/slot-migration.js";
