// Where the address of the other end comes from when a request is a `Request`: the standard has no
// place for it, so each runtime shows it beside the request, or a platform writes it into a header.

/**
 * Finds the address at the other end of a connection. It gets what the handler gets: the request, and
 * whatever the runtime passes along. Undefined: not known.
 */
export type PeerOf<Rest extends readonly unknown[] = readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => string | undefined;

/** What runtimes pass to a handler beside the request, as far as it describes the connection. */
interface RuntimeInfo {
  /** Bun: its server. */
  readonly requestIP?: unknown;
  /** Deno: what it knows about the request. */
  readonly remoteAddr?: { readonly hostname?: unknown };
  /** `@hono/node-server`: the request of `node:http`. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } };
  /** Where another framework put one of these into an object of its own. */
  readonly server?: unknown;
}

/**
 * The address that Bun, Deno and `@hono/node-server` show beside the request, and undefined in other
 * runtimes. Nothing that a client sends is looked at.
 */
export function runtimePeer(request: Request, info?: unknown): string | undefined {
  if (typeof info !== "object" || info === null) return undefined;
  const { requestIP, remoteAddr, incoming, server } = info as RuntimeInfo;
  if (incoming !== undefined) return toText(incoming.socket?.remoteAddress);
  if (remoteAddr !== undefined) return toText(remoteAddr.hostname);
  if (typeof requestIP === "function") return toText(requestIP.call(info, request)?.address);
  return server === undefined || server === info ? undefined : runtimePeer(request, server);
}

/**
 * The address that a platform writes into a header of each request. To name the header is to trust
 * it: only for a platform that removes what clients send under this name.
 */
export function headerPeer(name: string): PeerOf {
  return (request) => toText(request.headers.get(name)?.trim());
}

/** The address that Cloudflare writes into `cf-connecting-ip`. For what only Cloudflare can reach. */
export const cloudflarePeer: PeerOf = headerPeer("cf-connecting-ip");

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
