// Access logs for tests and benchmarks: lines of every format that `sluice replay` reads, of requests that a seed makes.
// Visitors come evenly, a few bots in bursts, and every run of one seed is the same.

/** The formats. */
export type LogLineFormat = "combined" | "common" | "caddy" | "envoy" | "alb" | "json";

/** A request to be logged. */
export interface LoggedRequest {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The peer of the server that writes the log. */
  readonly ip: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly bodyBytes: number;
  readonly user?: string | undefined;
  readonly host?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly forwardedFor?: string | undefined;
}

/** What requests are made of. */
export interface TrafficShape {
  readonly requests: number;
  readonly callers: number;
  /** The time of the first. */
  readonly startMs: number;
  /** Requests in a second; default 1,000. */
  readonly perSecond?: number | undefined;
  /** Default 1. */
  readonly seed?: number | undefined;
}

const PATHS = [
  "/",
  "/login",
  "/api/users/:id",
  "/api/orders/:id",
  "/static/app.js",
  "/search?q=:id",
];
const AGENT =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36";
const BOTS = 5;
/** One request in this many is a bot's. */
const BOT_EVERY = 20;
const PATH_IDS = 2_000;

/** Requests in the order of their times. Caller 0 to 4 are bots, which send a request in bursts. */
export function* makeTraffic(shape: TrafficShape): Generator<LoggedRequest> {
  const { requests, callers, startMs, perSecond = 1_000, seed = 1 } = shape;
  const next = randomFrom(seed);
  for (let at = 0; at < requests; at++) {
    const isBot = at % BOT_EVERY < 2 && Math.floor(at / 2_000) % 2 === 0;
    const caller = isBot ? next() % Math.min(BOTS, callers) : next() % callers;
    const path = (PATHS[next() % PATHS.length] as string).replace(":id", `${next() % PATH_IDS}`);
    yield {
      atMs: startMs + Math.floor((at * 1_000) / perSecond),
      ip: toAddress(caller),
      method: path === "/login" ? "POST" : "GET",
      path,
      status: path === "/login" && next() % 3 > 0 ? 401 : 200,
      bodyBytes: next() % 20_000,
      host: "api.example.com",
      userAgent: AGENT,
    };
  }
}

/** The address of a caller; every tenth has one of IPv6. */
export function toAddress(caller: number): string {
  if (caller % 10 === 9)
    return `2001:db8:${(caller >> 8).toString(16)}:${(caller & 255).toString(16)}::1`;
  return `10.${(caller >> 16) & 255}.${(caller >> 8) & 255}.${caller & 255}`;
}

/** A line of a log, without its end. */
export function toLogLine(format: LogLineFormat, request: LoggedRequest): string {
  switch (format) {
    case "common":
      return toCommon(request);
    case "combined":
      return toCombined(request);
    case "caddy":
      return JSON.stringify(toCaddy(request));
    case "envoy":
      return JSON.stringify(toEnvoy(request));
    case "alb":
      return toAlb(request);
    case "json":
      return JSON.stringify(toJson(request));
  }
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `17/Nov/2026:12:00:00 +0000`. */
export function toCommonTime(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${two(at.getUTCDate())}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}`;
  return `${day}:${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())} +0000`;
}

function toCommon({
  ip,
  user = "-",
  atMs,
  method,
  path,
  status,
  bodyBytes,
}: LoggedRequest): string {
  return `${ip} - ${user} [${toCommonTime(atMs)}] "${method} ${path} HTTP/1.1" ${status} ${bodyBytes}`;
}

function toCombined(request: LoggedRequest): string {
  const { userAgent = "-", forwardedFor } = request;
  const added = forwardedFor === undefined ? "" : ` "${forwardedFor}"`;
  return `${toCommon(request)} "-" "${userAgent}"${added}`;
}

function toCaddy(request: LoggedRequest): object {
  const { atMs, ip, method, path, host, user = "", status, bodyBytes } = request;
  const headers = {
    ...(request.userAgent === undefined ? {} : { "User-Agent": [request.userAgent] }),
    ...(request.forwardedFor === undefined ? {} : { "X-Forwarded-For": [request.forwardedFor] }),
  };
  return {
    level: "info",
    ts: atMs / 1_000,
    logger: "http.log.access",
    msg: "handled request",
    request: {
      remote_ip: ip,
      remote_port: "4711",
      proto: "HTTP/2.0",
      method,
      host,
      uri: path,
      headers,
    },
    user_id: user,
    duration: 0.001,
    size: bodyBytes,
    status,
  };
}

function toEnvoy(request: LoggedRequest): object {
  const { atMs, ip, method, path, host, status, bodyBytes, userAgent, forwardedFor } = request;
  return {
    start_time: new Date(atMs).toISOString(),
    method,
    path,
    protocol: "HTTP/1.1",
    response_code: status,
    bytes_sent: bodyBytes,
    duration: 3,
    authority: host,
    user_agent: userAgent ?? "-",
    x_forwarded_for: forwardedFor ?? null,
    downstream_remote_address: ip.includes(":") ? `[${ip}]:4711` : `${ip}:4711`,
  };
}

function toAlb(request: LoggedRequest): string {
  const { atMs, ip, method, path, host = "-", status, bodyBytes, userAgent = "-" } = request;
  const client = ip.includes(":") ? `[${ip}]:4711` : `${ip}:4711`;
  return `h2 ${new Date(atMs).toISOString().replace("Z", "000Z")} app/api/50dc6c495c0c9188 ${client} 10.0.0.1:80 0.000 0.001 0.000 ${status} ${status} 34 ${bodyBytes} "${method} https://${host}:443${path} HTTP/2.0" "${userAgent}" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:targetgroup "Root=1-58337262" "${host}" "arn:aws:acm:certificate" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-"`;
}

/** Names of the test's own, for a field map. */
function toJson({ atMs, ip, method, path, host, user, status, bodyBytes }: LoggedRequest): object {
  return {
    at: atMs,
    client: { addr: ip },
    verb: method,
    target: path,
    host,
    account: user,
    code: status,
    len: bodyBytes,
  };
}

/** The field map of lines in the format `json`. */
export const JSON_FIELDS =
  "time=at,ip=client.addr,method=verb,path=target,user=account,status=code,bytes=len";

/** xorshift32: fast, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
