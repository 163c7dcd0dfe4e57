// Which headers, cookies and fields carry secrets, by their names. What they carry is counted by a
// hash of it: a raw secret never gets into a key, and so into no store, log or metric.

const WORDS = [
  "auth",
  "bearer",
  "cookie",
  "credential",
  "jwt",
  "key",
  "otp",
  "pass",
  "pwd",
  "secret",
  "session",
  "sid",
  "signature",
  "token",
];

/** Whether a name says that its value is a secret. Too often rather than too seldom: a hash counts too. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  return WORDS.some((word) => lower.includes(word));
}
