// Where pages take chance from, and nowhere else.

/** An id that no other request has, for Idempotency-Key. It works on plain HTTP too, unlike `crypto.randomUUID`. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
