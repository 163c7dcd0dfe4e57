// Checks whether the Redis client can parse an address, and says which server and database it names. The client's own error
// would show the password.

/** What an address that can be read looks like, for errors. */
export const REDIS_URL_EXAMPLE =
  "an address such as redis://user:password@127.0.0.1:6379/0, where characters such as / and @ in the " +
  "password are written as %2F and %40 (its value is a secret and not shown)";

/** Whether a client can read it. */
export function isRedisUrl(url: string): boolean {
  try {
    const { hostname, pathname, username, password } = new URL(url);
    decodeURIComponent(username);
    decodeURIComponent(password);
    return hostname !== "" && /^\/?\d*$/.test(pathname);
  } catch {
    return false;
  }
}

/** The server and the database that an address names. It has to be one that can be read. */
export function toRedisPlace(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname.toLowerCase()}:${Number(port || REDIS_PORT)}/${Number(pathname.replace("/", ""))}`;
}

const REDIS_PORT = 6379;
