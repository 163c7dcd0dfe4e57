// A request as any framework shows it. Each adapter makes one of these, and everything behind it, from
// the client's address to the body, reads nothing else.

import type { MaybePromise } from "../../base/maybe-promise.js";
import type { BodyBounds, BodyFields } from "./body/body.js";

/** Headers of a request. */
type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a framework knows about a request before anything was decided. */
export interface HttpRequest {
  readonly method: string;
  /** The request target as it was sent: path and query, or a whole URL. */
  readonly target: string;
  /**
   * What rules may count by: the headers that the application sees, by lower-case name; several lines of one
   * header joined by commas or as a list.
   */
  readonly headers: RequestHeaders;
  /**
   * All headers as they were received, if `headers` leaves out hop-by-hop ones. Only the client's address
   * is read from these, since a proxy writes it. Default: the same as `headers`.
   */
  readonly received?: RequestHeaders;
  /** The address at the other end of the connection: the client, or the last proxy. */
  readonly peer: string | undefined;
  /** The framework's own request, for functions in code. */
  readonly raw: unknown;
  /** What the framework has besides, for functions in code: their second argument. */
  readonly context?: unknown;
  /**
   * The top-level fields of a JSON or form body; undefined if there is none within the bounds, or it
   * is malformed. The body can still be read afterwards.
   */
  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined>;
}
