// The responses of challenges: the refusal that offers one, as a page for browsers and as a problem body for scripts, and
// the answer to a browser that has solved one and wants its pass as a cookie.

import type { HttpRequest } from "../identity/http-request.js";
import { readSingle } from "../identity/sources.js";
import { PROBLEMS, toProblem } from "../response/problem-body.js";
import { bytesOf, type Refusal } from "../response/refusal.js";
import type { HeaderFields } from "../response/response-headers.js";
import type { Retry } from "../response/retry-after.js";
import type { ChallengeSetup } from "./challenge-options.js";
import { type Challenger, type OfferedChallenge, PASS_COOKIE } from "./challenger.js";
import { PAGE_HEADERS, toChallengePage, toPagePolicy } from "./page/challenge-page.js";

/** The header with which the page asks for its pass as a cookie. Other sites can't make a browser send it. */
export const SOLUTION_HEADER = "sluice-solution";

/** Where scripts send a pass, as the body says it. */
const PASS_HEADER_NAME = "Sluice-Pass";

const ACCEPT_LENGTH_MAX = 1_024;

/** The refusal that offers a challenge: the limit is exceeded, whichever way the caller goes on. */
export function toChallengeRefusal(
  offered: OfferedChallenge,
  request: HttpRequest,
  { names, retry }: { readonly names: readonly string[]; readonly retry: Retry },
  setup: ChallengeSetup,
): Refusal {
  const isPage = wantsPage(request);
  const body = isPage
    ? toChallengePage({ ...offered, method: request.method, retry, widget: setup.provider?.widget })
    : toChallengeProblem(offered, names, retry, setup);
  const type = isPage ? "text/html; charset=utf-8" : "application/problem+json";
  const fields = [
    "Cache-Control",
    "no-store",
    "Content-Type",
    type,
    "Content-Length",
    `${bytesOf(body)}`,
    ...(retry.seconds === undefined ? [] : ["Retry-After", `${retry.seconds}`]),
    ...(isPage ? [...PAGE_HEADERS, ...toPagePolicy(setup.provider?.widget)] : []),
  ];
  const { status } = PROBLEMS.limit;
  return { status, fields, body, reason: "limit", retryAfterMs: retry.shownMs };
}

/** Whether a person may be looking: a browser names HTML when it opens a page. */
function wantsPage({ headers }: HttpRequest): boolean {
  const { accept } = headers;
  const text = typeof accept === "string" ? accept : (accept?.join(",") ?? "");
  const types = text.slice(0, ACCEPT_LENGTH_MAX).toLowerCase().split(",");
  return types.some((type) => /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/.test(type));
}

/** The problem body of a refusal, with the challenge in it. */
function toChallengeProblem(
  { token, task, expiresInMs }: OfferedChallenge,
  names: readonly string[],
  retry: Retry,
  { provider }: ChallengeSetup,
): string {
  const how =
    task.kind === "work"
      ? { kind: "sha256", bits: task.bits }
      : { kind: "provider", siteKey: provider?.widget.siteKey };
  const challenge = { ...how, token, expiresInMs, header: PASS_HEADER_NAME };
  const plain = toProblem(PROBLEMS.limit, names, retry);
  return `${plain.slice(0, -1)},"challenge":${JSON.stringify(challenge)}}`;
}

/**
 * The answer to a request that brings a solution to be kept as a cookie; undefined if it brings none. It goes no further:
 * it is not charged, and the application never sees it.
 */
export function answerSolution(
  challenger: Challenger | undefined,
  request: HttpRequest,
): Refusal | undefined {
  if (challenger?.isInForce !== true) return undefined;
  const given = request.headers[SOLUTION_HEADER];
  if (given === undefined) return undefined;
  const [pass = "", scheme] = (readSingle(request, SOLUTION_HEADER) ?? "").split(";");
  const read = challenger.inspect(pass);
  if (typeof read === "string") return toReply(403, [], `{"reason":"${read}"}`);
  const seconds = Math.ceil(read.goodForMs / 1_000);
  // Only the browser knows whether it came over https; what it says is about its own cookie.
  const secure = scheme === "secure" ? "; Secure" : "";
  const cookie = `${PASS_COOKIE}=${pass}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
  return toReply(200, ["Set-Cookie", cookie], `{"goodForMs":${read.goodForMs}}`);
}

function toReply(status: number, more: HeaderFields, body: string): Refusal {
  const length = `${bytesOf(body)}`;
  const type = "application/json; charset=utf-8";
  const fields = ["Cache-Control", "no-store", "Content-Type", type, "Content-Length", length];
  return { status, fields: [...fields, ...more], body, reason: "limit", retryAfterMs: 0 };
}
