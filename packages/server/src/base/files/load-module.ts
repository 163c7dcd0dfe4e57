// Loads packages of which a service needs some and never all: the clients of databases and of Redis. Each takes tens of
// milliseconds of every start, of workers and followers too, so it is loaded by what uses it.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Loads a package when it is first used. Its type is the caller's to name: `loadModule<typeof import("pg")>("pg")`. */
export function loadModule<T>(name: "pg" | "libsql" | "ioredis"): T {
  return require(name) as T;
}
