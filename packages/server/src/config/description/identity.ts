// Describes the section on identity: how callers are recognised. Its fields are the library's options that a file can
// express, with the same names and meanings.

import { JWT_ALGORITHMS } from "sluice/internals";
import { listOf, mapOf, optional, required, section, withDefault } from "./fields.js";
import { duration, flag, oneOf, whole } from "./shapes.js";
import { anyText, fieldName, fieldNameOrFalse, filePath, secret, token } from "./strings.js";

const DAY_MS = 86_400_000;
const SECRET_LENGTH_MIN = 16;
/** RFC 7518 asks for the size of the hash. */
const JWT_SECRET_LENGTH_MIN = 32;

const sourceSection = section({
  header: optional(fieldName(), "The header that has it, trusted only from trusted proxies."),
  trust: optional(
    oneOf(["proxies", "anyone"]),
    "Whether the header is trusted from trusted proxies only (the default) or from anyone.",
  ),
  claim: optional(
    anyText("the name of a claim"),
    "The claim of a verified token, such as sub or org.id.",
  ),
});

const apiKeySection = section({
  header: optional(
    fieldName(),
    "The header that has it; x-api-key if neither of the others is set.",
  ),
  query: optional(anyText("the name of a parameter"), "The parameter of the query that has it."),
  scheme: optional(
    fieldName("a scheme such as Bearer"),
    "The scheme of the Authorization header that has it.",
  ),
});

const overrideSection = section({
  header: required(fieldName(), "The header by which a POST becomes another method."),
  methods: withDefault(
    listOf(token("a method such as PUT"), { min: 1, max: 32 }),
    ["PUT", "PATCH", "DELETE"],
    "The methods that it may stand for.",
  ),
});

const jwtSection = section({
  keyFile: optional(
    filePath(),
    "A public key or a certificate, as PEM. One of keyFile, jwksFile, jwksUrl and secret.",
  ),
  jwksFile: optional(
    filePath(),
    "A JSON file with a set of public keys, read again when it changes.",
  ),
  jwksUrl: optional(
    anyText("a URL such as https://login.example.com/jwks"),
    "The URL of a set of public keys, https or on a loopback address. It is fetched at the start, again when it is old, and when a token names a key that is not in it.",
  ),
  jwksMaxAgeMs: optional(
    duration({ min: 10_000, max: DAY_MS }),
    "How old keys of jwksUrl become before they are fetched again; if omitted, 10 minutes.",
  ),
  jwksStaleMs: optional(
    duration({ min: 10_000, max: 30 * DAY_MS }),
    "How long keys of jwksUrl keep working while it does not answer; if omitted, 24 hours.",
  ),
  secret: optional(secret(JWT_SECRET_LENGTH_MIN), "A secret that is shared with the issuer."),
  algorithms: required(
    listOf(oneOf(JWT_ALGORITHMS), { min: 1, max: JWT_ALGORITHMS.length }),
    "The algorithms that may be used: HS… with a secret, the others with keys.",
  ),
  issuer: optional(
    listOf(anyText("a string"), { min: 1, max: 100 }),
    "The issuers whose tokens are accepted; by default any issuer with the key.",
  ),
  audience: optional(
    listOf(anyText("a string"), { min: 1, max: 100 }),
    "The audiences, one of which a token must have; if omitted, the audience is not checked.",
  ),
  clockToleranceSeconds: withDefault(
    whole({ min: 0, max: 300 }),
    0,
    "By how many seconds clocks may differ.",
  ),
  header: withDefault(
    fieldNameOrFalse("the name of a header such as authorization"),
    "authorization",
    "The header that has it; false: none.",
  ),
  cookie: optional(
    token("the name of a cookie"),
    "The cookie that has it, if the header has no valid token.",
  ),
  tokensMax: withDefault(
    whole({ min: 0, max: 1_000_000 }),
    10_000,
    "How many verified tokens are remembered.",
  ),
});

/** How callers are identified. */
export const identitySection = section({
  trustedProxies: optional(
    listOf(anyText("a range such as 10.0.0.0/8"), { min: 0, max: 10_000 }),
    "Proxies whose forwarding headers are trusted: ranges, loopback, private, unaddressed.",
  ),
  clientAddress: withDefault(
    fieldName(),
    "x-forwarded-for",
    "Where they write the client's address: x-forwarded-for, forwarded, or a header with one address.",
  ),
  forwardedHost: withDefault(
    flag(),
    false,
    "Whether X-Forwarded-Host of a trusted proxy is the host that rules match.",
  ),
  fingerprintHeader: optional(
    fieldName(),
    "The header in which trusted proxies report the fingerprint of the client's software, such as a JA4 hash, for rules by fingerprint; if omitted, it is not known.",
  ),
  mmdb: withDefault(
    listOf(filePath(), { min: 0, max: 8 }),
    [],
    "MMDB files that say which autonomous system and country an address belongs to, for rules by asn and country. If several know the autonomous system, or the country, of an address, the first of them counts. They are read again when they change.",
  ),
  user: optional(sourceSection, "Where the user comes from; if omitted, the user is not known."),
  tenant: optional(
    sourceSection,
    "Where the tenant comes from; if omitted, the tenant is not known.",
  ),
  tier: optional(sourceSection, "Where the tier comes from; if omitted, no tier applies."),
  attributes: withDefault(
    mapOf(sourceSection),
    {},
    "Anything else that rules match or count by, by name.",
  ),
  apiKey: optional(
    apiKeySection,
    "Where the API key comes from; if omitted, API keys are not read.",
  ),
  apiKeys: optional(
    oneOf(["control"]),
    "Resolves API keys to tenant, plan and attributes: control takes those of the control plane. They are looked for where apiKey says. Without it keys are not verified, and count by their hash.",
  ),
  unknownKeys: optional(
    oneOf(["refuse", "anonymous"]),
    "What happens to a request whose API key is unknown: refuse (401), or anonymous, as if it had no key. Default: refuse. Only with apiKeys.",
  ),
  keyLookupsPerSecond: optional(
    whole({ min: 1, max: 100_000 }),
    "How many API keys that this node does not know are looked up in a second; those beyond it count as unknown. Default: 100. Only with apiKeys.",
  ),
  keySecret: optional(
    secret(SECRET_LENGTH_MIN),
    "The secret with which API keys are hashed, the same on all servers that share limits; if omitted, a plain hash is used, from which guessable keys can be found. With Redis, inline keys of the decision API that are secrets need it.",
  ),
  jwt: optional(jwtSection, "Verifies tokens for claims."),
  bodyBytesMax: withDefault(
    whole({ min: 1, max: 1_048_576 }),
    16_384,
    "The largest body that is read for a rule that counts by one of its fields, or takes its cost from one.",
  ),
  bodyMsMax: withDefault(
    duration({ min: 1, max: 60_000 }),
    5_000,
    "How long such a body may take to arrive.",
  ),
  methodOverride: optional(
    overrideSection,
    "Lets a POST request stand for another method; if omitted, it never does.",
  ),
});
