// Kinds of values that are strings with a grammar of their own: names, paths of files, secrets, addresses to
// listen at, backends.

import { isIP, isIPv6 } from "node:net";
import { TOKEN_BYTES_MAX } from "../../base/http/auth.js";
import type { ListenAddress } from "../../base/http/listen.js";
import { type ConfigShape, orFalse, shape } from "./shapes.js";

const TEXT_LENGTH_MAX = 4_096;

/** A string that a pattern describes, of at most `lengthMax` characters, default 4,096. */
export function text(options: {
  readonly what: string;
  readonly type?: string;
  readonly pattern: RegExp;
  readonly lengthMax?: number;
  readonly isSecret?: boolean;
  readonly isUrl?: boolean;
  readonly toValue?: (text: string) => string | undefined;
}): ConfigShape<string> {
  const { lengthMax = TEXT_LENGTH_MAX, toValue = (value) => value, ...rest } = options;
  return shape({
    ...rest,
    read: (value) =>
      typeof value === "string" && value.length <= lengthMax && rest.pattern.test(value)
        ? toValue(value)
        : undefined,
  });
}

/** Any text on one line that is not blank. */
export function anyText(what: string): ConfigShape<string> {
  return text({ what, pattern: /^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u });
}

/** A path of a file, relative to that of the configuration. */
export function filePath(): ConfigShape<string> {
  return text({ what: "the path of a file", pattern: /^\P{Cc}+$/u });
}

/** An address of Redis, with or without a password. */
export function redisUrl(): ConfigShape<string> {
  return text({
    what: "an address such as redis://127.0.0.1:6379/0 or rediss://…",
    pattern: /^rediss?:\/\/[^\s]+$/,
    isSecret: true,
    isUrl: true,
  });
}

/** A secret, at least this many characters of what a header can carry. */
export function secret(lengthMin: number): ConfigShape<string> {
  const length = lengthMin === 1 ? "" : ` of at least ${lengthMin} characters`;
  const what = `a string${length} without spaces`;
  return text({ what, pattern: new RegExp(`^[\\x21-\\x7e]{${lengthMin},}$`), isSecret: true });
}

/** A token that is shorter can be found by trying. */
const BEARER_LENGTH_MIN = 16;

/** A token that a listener accepts. */
export function bearerToken(): ConfigShape<string> {
  const [min, max] = [BEARER_LENGTH_MIN, TOKEN_BYTES_MAX];
  const what = `a string of ${min} to ${max} characters without spaces`;
  return text({ what, pattern: new RegExp(`^[\\x21-\\x7e]{${min},${max}}$`), isSecret: true });
}

// RFC 9110, section 5.6.2.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TOKEN_LENGTH_MAX = 128;

/** A token of HTTP: the name of a cookie, or a method. */
export function token(what: string): ConfigShape<string> {
  return text({ what, pattern: TOKEN, lengthMax: TOKEN_LENGTH_MAX });
}

/** The name of a header or a scheme, in lower case. */
export function fieldName(what = "the name of a header such as x-user-id"): ConfigShape<string> {
  return text({
    what,
    pattern: TOKEN,
    lengthMax: TOKEN_LENGTH_MAX,
    toValue: (name) => name.toLowerCase(),
  });
}

/** The name of a header, or false for none. */
export function fieldNameOrFalse(what: string): ConfigShape<string | false> {
  return orFalse(fieldName(), { what, pattern: TOKEN });
}

/** All addresses of the machine, for `:8080`. IPv4, since not every machine speaks the other. */
const ANY_HOST = "0.0.0.0";
const PORT_MAX = 65_535;
const LISTEN = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]*):(\d{1,5})$/;

/** Where to listen: `127.0.0.1:8080`, `[::1]:8080`, `:8080` or the port alone. */
export function listen(): ConfigShape<ListenAddress> {
  return shape({
    what: "an address such as 127.0.0.1:8080, [::1]:8080 or :8080, or a port from 0 to 65535",
    type: "[address](#addresses)",
    forms: [{ type: "integer", minimum: 0, maximum: PORT_MAX }],
    pattern: new RegExp(`${LISTEN.source}|^\\d{1,5}$`),
    read: toListen,
  });
}

function toListen(value: unknown): ListenAddress | undefined {
  const written = typeof value === "number" ? `:${value}` : value;
  if (typeof written !== "string") return undefined;
  const [, name, digits] = LISTEN.exec(written.includes(":") ? written : `:${written}`) ?? [];
  const port = Number(digits);
  if (name === undefined || port > PORT_MAX) return undefined;
  const host = name.startsWith("[") ? name.slice(1, -1) : name;
  if (name.startsWith("[") && !isIPv6(host)) return undefined;
  return { host: host === "" ? ANY_HOST : host, port };
}

/** A host in lower case, without a port: `api.example.com`, or `*.example.com` for all below it. */
export function hostName(): ConfigShape<string> {
  return text({
    what: "a host without a port, such as api.example.com or *.example.com",
    pattern: /^(\*\.)?[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/,
    lengthMax: 253,
    toValue: (name) => name.toLowerCase(),
  });
}

/** `/api/*`: a path, or everything below one. */
export function routePath(): ConfigShape<string> {
  return text({
    what: "a path such as /users, or /api/* for everything below one",
    pattern: /^\/([^\s?#*\\;]*\/)?(\*|[^\s?#*\\;/]*)$/,
    lengthMax: 1_024,
  });
}

const PATH = /^\/[^\s?#*\\;]*$/;

/** A path without a query. */
export function urlPath(what: string): ConfigShape<string> {
  return text({ what, pattern: PATH, lengthMax: 1_024 });
}

/** A path without a query, or false for none. */
export function urlPathOrFalse(what: string): ConfigShape<string | false> {
  return orFalse(urlPath(what), { what, pattern: PATH });
}

/** The name that a certificate is for. */
export function serverName(): ConfigShape<string> {
  return text({
    what: "a name such as api.example.com, not an address",
    pattern: /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/,
    lengthMax: 253,
    toValue: (name) => (isIP(name) === 0 ? name.toLowerCase() : undefined),
  });
}

/** Where a backend is: `http://host:port` or `https://host:port`, without a path. */
export function backendUrl(): ConfigShape<string> {
  return text({
    what: "an address such as http://127.0.0.1:3000 or https://api.example.com, without a path",
    pattern: /^https?:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?\/?$/,
    lengthMax: 512,
    isUrl: true,
    // Numbers of ports and addresses are out of reach of a pattern.
    toValue: (url) => (URL.canParse(url) ? new URL(url).origin : undefined),
  });
}

/** Where a database is: an SQLite file or PostgreSQL. Secret, since it may hold a password. */
export function databaseUrl(): ConfigShape<string> {
  return text({
    what: "file:PATH for an SQLite file, or postgres://… for PostgreSQL",
    pattern: /^(?:file:|postgres(?:ql)?:\/\/)\P{Cc}+$/u,
    isSecret: true,
    isUrl: true,
  });
}
