// What is used of undici 7's dispatchers and handlers, written out, so that neither code nor types need the package.

/** Controls one request on its connection. */
export interface DispatchController {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/** Response headers by their names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Gets what comes of a request. */
export interface DispatchHandler {
  onRequestStart?(controller: DispatchController, context: unknown): void;
  onRequestUpgrade?(
    controller: DispatchController,
    status: number,
    headers: ResponseHeaders,
    socket: unknown,
  ): void;
  onResponseStart?(
    controller: DispatchController,
    status: number,
    headers: ResponseHeaders,
    message?: string,
  ): void;
  onResponseData?(controller: DispatchController, chunk: Uint8Array): void;
  onResponseEnd?(controller: DispatchController, trailers: unknown): void;
  onResponseError?(controller: DispatchController, error: Error): void;
}

/** What is read of the options of a request. */
export interface DispatchOptions {
  readonly origin?: string | URL | undefined;
  readonly path: string;
  readonly method: string;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly upgrade?: unknown;
}

/** Sends a request. undici's own types of it are stricter, and differ between its versions. */
// biome-ignore lint/suspicious/noExplicitAny: has to be assignable to undici's types, and from them.
export type Dispatch = (options: any, handler: any) => boolean;
