// Describes the section on challenges: what signs them, how hard they are, and who else may verify them.

import { CHALLENGE_DEFAULTS, DIFFICULTY, LIFETIME_MS } from "sluice/http";
import { listOf, optional, required, section, withDefault } from "./fields.js";
import { duration, oneOf, whole } from "./shapes.js";
import { secret, text } from "./strings.js";

/** An HMAC of SHA-256 is as strong as a secret of this length. */
const SECRET_LENGTH_MIN = 32;

const httpsUrl = (what: string) =>
  text({ what, pattern: /^https:\/\/[\w.-]+(:\d+)?[\w./~%?&=-]*$/, lengthMax: 2_048 });

const plainName = (what: string) => text({ what, pattern: /^[\w.-]{1,256}$/ });

const providerSection = section({
  verifyUrl: required(
    text({
      what: "an https:// URL, or one of a loopback address",
      pattern: /^https:\/\/[^\s/?#@]+[^\s#]*$|^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?[^\s#]*$/,
      lengthMax: 2_048,
    }),
    "Where tokens are verified, by POST with secret, response and remoteip: https://challenges.cloudflare.com/turnstile/v0/siteverify.",
  ),
  secret: required(secret(1), "The secret that the provider issued for this service."),
  siteKey: required(
    plainName("a string of letters, digits, _, - and ."),
    "The key that the provider issued for the page. It is public.",
  ),
  scriptUrl: required(
    httpsUrl("an https:// URL"),
    "The script of the provider's widget: https://challenges.cloudflare.com/turnstile/v0/api.js.",
  ),
  className: required(
    plainName("the name of a class such as cf-turnstile"),
    "The class of the element that the script looks for: cf-turnstile, h-captcha or g-recaptcha.",
  ),
  origins: withDefault(
    listOf(httpsUrl("an origin such as https://hcaptcha.com"), { min: 0, max: 16 }),
    [],
    "Where the widget loads from and connects to besides the script's origin.",
  ),
  timeoutMs: withDefault(
    duration({ min: 1, max: 60_000 }),
    3_000,
    "How long the provider may take.",
  ),
  onFailure: withDefault(
    oneOf(["refuse", "accept"]),
    "refuse",
    "What happens to a token if the provider does not answer.",
  ),
});

/** Challenges of rules with onExceed: challenge. */
export const challengeSection = section({
  secrets: required(
    listOf(secret(SECRET_LENGTH_MIN), { min: 1, max: 8 }),
    "What challenges are signed with, the same on all servers that share limits. The first signs and all are accepted, so that a secret can be replaced.",
  ),
  difficulty: withDefault(
    whole(DIFFICULTY),
    CHALLENGE_DEFAULTS.difficulty,
    "How many zero bits a solution needs: each doubles the work. 18 bits take a browser about a second.",
  ),
  lifetimeMs: withDefault(
    duration(LIFETIME_MS),
    CHALLENGE_DEFAULTS.lifetimeMs,
    "How long a challenge and its pass are good for.",
  ),
  provider: optional(
    providerSection,
    "Asks a provider such as Turnstile or hCaptcha instead of requiring proof of work; if omitted, browsers and scripts solve a puzzle.",
  ),
});
