// Asks a provider whether the token of a client is good, as Turnstile, hCaptcha and reCAPTCHA want to be asked: a form by
// POST, answered by JSON with `success`. It follows no redirect and reads a bounded answer within its time.

import type { ChallengeProvider } from "sluice/http";
import { after } from "../../base/clock.js";
import type { ChallengeProviderConfig } from "../../config/config.js";

const ANSWER_BYTES_MAX = 65_536;

type SiteVerifyConfig = Pick<ChallengeProviderConfig, "verifyUrl" | "secret" | "timeoutMs">;

/** Verifies tokens at a provider. Rejects if it does not answer, after `onFailed` was called. */
export function toSiteVerify(
  { verifyUrl, secret, timeoutMs }: SiteVerifyConfig,
  onFailed: (error: unknown) => void,
): ChallengeProvider["verify"] {
  return async (token, { ip }) => {
    const form = new URLSearchParams({ secret, response: token });
    if (ip !== undefined) form.set("remoteip", ip);
    const ending = new AbortController();
    const cancel = after(timeoutMs, () => ending.abort());
    try {
      const { signal } = ending;
      const init = { method: "POST", body: form, redirect: "error", signal } as const;
      return isSuccess(await readAnswer(await fetch(verifyUrl, init)));
    } catch (error) {
      const failure = new Error(describe(error, timeoutMs));
      onFailed(failure);
      throw failure;
    } finally {
      cancel();
      ending.abort();
    }
  };
}

async function readAnswer(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > ANSWER_BYTES_MAX) throw new Error("its answer is too long");
  }
  return JSON.parse(text);
}

function isSuccess(answer: unknown): boolean {
  return (answer as { success?: unknown } | null)?.success === true;
}

/** In words without the secret: messages of fetch have their reason in what caused them. */
function describe(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error & { cause?: { code?: unknown } };
  if (name === "AbortError") return `no answer within ${timeoutMs} ms`;
  if (name === "SyntaxError") return "its answer is not JSON";
  return typeof cause?.code === "string" ? `the request failed (${cause.code})` : message;
}
