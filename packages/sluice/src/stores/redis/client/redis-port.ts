// What the Redis store needs of a client, whichever it is.

/** What the store needs from a client. */
export interface RedisPort {
  /** Whether keys of different tags may live on different servers. */
  readonly isCluster: boolean;
  /** Whether a command that is sent now is sent immediately. */
  readonly isReady: boolean;
  /** Why there is no connection, if an attempt to make one has failed. */
  readonly reason: string | undefined;
  /** Resolves when the connection is open, rejects if the client stopped trying. */
  whenReady(): Promise<void>;
  evalSha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  info(): Promise<string>;
  /** Reconnects to wherever the primary is now. */
  reconnect(): void;
  /** Ends the connection if it is the store's own. */
  close(): Promise<void>;
}
