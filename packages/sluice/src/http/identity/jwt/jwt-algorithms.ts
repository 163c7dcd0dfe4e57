// The signature algorithms of tokens. On their own, so that the service can describe them in its configuration without
// loading what verifies tokens.

/** Algorithms of signatures by a private key, which a public key verifies. */
export const PUBLIC_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** Algorithms of codes by a shared secret. */
export const SECRET_ALGORITHMS = ["HS256", "HS384", "HS512"] as const;

/** All of them. */
export const JWT_ALGORITHMS = [...PUBLIC_ALGORITHMS, ...SECRET_ALGORITHMS] as const;

/** A signature algorithm. There is no `none`. */
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];
