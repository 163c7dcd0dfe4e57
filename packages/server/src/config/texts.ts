// Kinds of values that are texts with a grammar of their own: names, paths of files, secrets, addresses to
// listen at, targets.

import { isIPv6 } from "node:net";
import type { z } from "zod";
import type { ListenConfig } from "./config.js";
import { type ShapeInfo, shape } from "./shapes.js";

const TEXT_LENGTH_MAX = 4_096;

/** A text that a pattern describes. `${}` in it is replaced before it is read, so editors are told of both. */
export function text(options: {
  readonly what: string;
  readonly pattern: RegExp;
  readonly lengthMax?: number;
  readonly info?: ShapeInfo;
}): z.ZodType<string> {
  const { what, pattern, lengthMax = TEXT_LENGTH_MAX, info = {} } = options;
  return shape({
    what,
    schema: { type: "string", pattern: `${pattern.source}|\\$\\{`, maxLength: lengthMax },
    read: (value) =>
      typeof value === "string" && value.length <= lengthMax && pattern.test(value)
        ? value
        : undefined,
    info,
  });
}

/** Any text that is not blank. */
export function anyText(what: string): z.ZodType<string> {
  return text({ what, pattern: /^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u });
}

/** A path of a file, relative to that of the configuration. */
export function filePath(): z.ZodType<string> {
  return text({ what: "the path of a file", pattern: /^\P{Cc}+$/u });
}

/** A secret, at least so many characters of what a header can carry. */
export function secret(lengthMin: number): z.ZodType<string> {
  return text({
    what: `a text of at least ${lengthMin} characters without spaces`,
    pattern: new RegExp(`^[\\x21-\\x7e]{${lengthMin},}$`),
    info: { isSecret: true },
  });
}

/** The name of an HTTP field, in lower case. */
export function fieldName(): z.ZodType<string> {
  const pattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
  return shape({
    what: "the name of a header such as x-user-id",
    schema: { type: "string", pattern: pattern.source, maxLength: 128 },
    read: (value) =>
      typeof value === "string" && value.length <= 128 && pattern.test(value)
        ? value.toLowerCase()
        : undefined,
  });
}

/** All addresses of the machine, for `:8080`. IPv4, since not every machine speaks the other. */
const ANY_HOST = "0.0.0.0";
const LISTEN = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]*):(\d{1,5})$/;

/** Where to listen: `127.0.0.1:8080`, `[::1]:8080`, `:8080` or the port alone. */
export function listen(): z.ZodType<ListenConfig> {
  return shape({
    what: "an address such as 127.0.0.1:8080, [::1]:8080 or :8080, or a port from 0 to 65535",
    schema: {
      anyOf: [
        { type: "integer", minimum: 0, maximum: 65_535 },
        { type: "string", pattern: `${LISTEN.source}|^\\d{1,5}$` },
      ],
    },
    read: toListen,
  });
}

function toListen(value: unknown): ListenConfig | undefined {
  const written = typeof value === "number" ? `:${value}` : value;
  if (typeof written !== "string") return undefined;
  const [, name, digits] = LISTEN.exec(written.includes(":") ? written : `:${written}`) ?? [];
  const port = Number(digits);
  if (name === undefined || port > 65_535) return undefined;
  const host = name.startsWith("[") ? name.slice(1, -1) : name;
  if (name.startsWith("[") && !isIPv6(host)) return undefined;
  return { host: host === "" ? ANY_HOST : host, port };
}

/** Whether only this machine can connect to it. */
export function isLoopback({ host }: ListenConfig): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** A host in lower case, without a port: `api.example.com`, or `*.example.com` for all below it. */
export function hostName(): z.ZodType<string> {
  const pattern = /^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*)(\.[A-Za-z0-9_-]+)*$/;
  return shape({
    what: "a host without a port, such as api.example.com",
    schema: { type: "string", pattern: pattern.source, maxLength: 253 },
    read: (value) =>
      typeof value === "string" && value.length <= 253 && pattern.test(value)
        ? value.toLowerCase()
        : undefined,
  });
}

/** `/api/*`: a path, or everything below one. */
export function routePath(): z.ZodType<string> {
  return text({
    what: "a path such as /users, or /api/* for everything below one",
    pattern: /^\/(?:[^\s?#*\\;]*\/)?(?:\*|[^\s?#*\\;/]*)$/,
    lengthMax: 1_024,
  });
}

/** A path without a query, or false. */
export function urlPath(): z.ZodType<string | false> {
  const pattern = /^\/[^\s?#*\\;]*$/;
  return shape<string | false>({
    what: "a path such as /rate_limit, or false",
    schema: { anyOf: [{ type: "string", pattern: pattern.source }, { const: false }] },
    read: (value) => {
      if (value === false || value === "false") return false;
      return typeof value === "string" && pattern.test(value) ? value : undefined;
    },
  });
}

/** Where an upstream is: `http://host:port`, without a path. */
export function target(): z.ZodType<string> {
  return text({
    what: "an address such as http://127.0.0.1:3000, without a path (https:// is not offered yet)",
    pattern: /^http:\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?\/?$/,
    lengthMax: 512,
  });
}
