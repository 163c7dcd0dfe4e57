// Challenges as the gateway's request handler takes them: the options of the configuration, a provider that is asked over
// HTTP, and the metrics that count what became of them.

import type { ChallengeOptions, HttpOptions } from "sluice/http";
import type { ChallengeConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { toSiteVerify } from "./site-verify.js";

/** The option of a request handler; none if no challenges are configured. */
export function toChallengeOptions(
  config: ChallengeConfig | undefined,
  telemetry: Telemetry,
): Pick<HttpOptions, "challenge"> {
  if (config === undefined) return {};
  const { secrets, difficulty, lifetimeMs, provider } = config;
  const challenge: ChallengeOptions = {
    secrets,
    difficulty,
    lifetimeMs,
    onChallenge: ({ kind, rule, reason }) => telemetry.clients.challenges.add(rule, reason ?? kind),
  };
  if (provider === undefined) return { challenge };
  const { scriptUrl, className, siteKey, origins, timeoutMs, onFailure } = provider;
  const onFailed = (error: unknown) =>
    telemetry.problem("the provider of challenges does not answer", error);
  const widget = { scriptUrl, className, siteKey, origins };
  const verify = toSiteVerify(provider, onFailed);
  return { challenge: { ...challenge, provider: { verify, timeoutMs, onFailure, widget } } };
}
