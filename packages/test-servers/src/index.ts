// Servers that tests and benchmarks start, and ways to break them. Private: nothing of this
// is published.

export { makeCertificate, makeExpiredCertificate } from "./certificate.js";
export { eventually, onStop, stopAll } from "./cleanup.js";
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.js";
export {
  type FaultCounters,
  FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from "./fault-proxy.js";
export { ensureProgram } from "./find-program.js";
export { ensureRedisServer, findValkeyServer, type Machine } from "./find-server.js";
export { makeFolder, removeFolder } from "./folder.js";
export { type HaproxyOptions, startHaproxy } from "./haproxy.js";
export { type NginxOptions, startNginx } from "./nginx.js";
export { type PostgresServer, startPostgres } from "./postgres.js";
export type { ProxyProcess } from "./proxy-process.js";
export { ensurePythonGrpc } from "./python-grpc.js";
export { connectTo, RawClient, rawExchange } from "./raw-client.js";
export { type RedisOptions, startRedis } from "./redis.js";
export type { RedisConfig, RedisProcess } from "./redis-process.js";
export { Push, RedisError, type Reply } from "./resp.js";
export { type Address, RespConnection } from "./resp-connection.js";
export { type SentinelGroup, type SentinelOptions, startSentinelGroup } from "./sentinel.js";
export { slotOf } from "./slot.js";
export type { SlotMigration } from "./slot-migration.js";
