// Headers as public APIs sent them, from recordings that other projects have published: those of the tests of Octokit
// (GitHub), PRAW (Reddit) and OpenTelemetry's instrumentations for Python (OpenAI, Anthropic), and a log of curl (GitLab).
// Only what is not about limits or times is left out. The client's own clock is years off, as in a replay.

import { describe, expect, it } from "vitest";
import { QuotaReader } from "./read-quotas.js";

const WALL_MS = Date.UTC(2030, 0, 1);

type Fields = Readonly<Record<string, string>>;

const recordings: Readonly<
  Record<string, { readonly fields: Fields; readonly quotas: readonly unknown[][] }>
> = {
  "GitHub on 3 June 2018": {
    fields: {
      Date: "Sun, 03 Jun 2018 05:43:19 GMT",
      "X-RateLimit-Limit": "5000",
      "X-RateLimit-Remaining": "4898",
      "X-RateLimit-Reset": "1528007987",
      "Cache-Control": "private, max-age=60, s-maxage=60",
    },
    quotas: [["", 5_000, 4_898, 3_388_000, true]],
  },
  "GitHub's search on 3 June 2018, which had no name": {
    fields: {
      Date: "Sun, 03 Jun 2018 05:43:30 GMT",
      "X-RateLimit-Limit": "30",
      "X-RateLimit-Remaining": "29",
      "X-RateLimit-Reset": "1528004670",
      "Cache-Control": "no-cache",
    },
    quotas: [["", 30, 29, 60_000, true]],
  },
  "GitHub on 19 July 2022": {
    fields: {
      Date: "Tue, 19 Jul 2022 04:41:08 GMT",
      "X-RateLimit-Limit": "5000",
      "X-RateLimit-Remaining": "4867",
      "X-RateLimit-Reset": "1658208999",
      "X-RateLimit-Used": "133",
      "X-RateLimit-Resource": "core",
    },
    quotas: [["core", 5_000, 4_867, 3_331_000, true]],
  },
  "GitHub's search on 19 July 2022": {
    fields: {
      Date: "Tue, 19 Jul 2022 04:41:07 GMT",
      "Cache-Control": "no-cache",
      "X-RateLimit-Limit": "30",
      "X-RateLimit-Remaining": "29",
      "X-RateLimit-Reset": "1658205727",
      "X-RateLimit-Used": "1",
      "X-RateLimit-Resource": "search",
    },
    quotas: [["search", 30, 29, 60_000, true]],
  },
  "GitLab on 20 October 2021": {
    fields: {
      date: "Wed, 20 Oct 2021 16:32:58 GMT",
      "cache-control": "no-cache",
      "ratelimit-observed": "1",
      "ratelimit-remaining": "1999",
      "ratelimit-reset": "1634747638",
      "ratelimit-resettime": "Wed, 20 Oct 2021 16:33:58 GMT",
      "ratelimit-limit": "2000",
    },
    quotas: [["", 2_000, 1_999, 60_000, true]],
  },
  "Reddit on 20 March 2016": {
    fields: {
      Date: "Sun, 20 Mar 2016 05:31:45 GMT",
      "cache-control": "private, s-maxage=0, max-age=0, must-revalidate",
      expires: "-1",
      "x-ratelimit-remaining": "596.0",
      "x-ratelimit-reset": "495",
      "x-ratelimit-used": "4",
    },
    quotas: [["", undefined, 596, 495_000, true]],
  },
  "OpenAI on 13 November 2024": {
    fields: {
      Date: "Wed, 13 Nov 2024 00:03:58 GMT",
      "openai-processing-ms": "359",
      "x-ratelimit-limit-requests": "30000",
      "x-ratelimit-limit-tokens": "150000000",
      "x-ratelimit-remaining-requests": "29999",
      "x-ratelimit-remaining-tokens": "149999978",
      "x-ratelimit-reset-requests": "2ms",
      "x-ratelimit-reset-tokens": "0s",
    },
    quotas: [
      ["requests", 30_000, 29_999, 2, true],
      ["tokens", 150_000_000, 149_999_978, 0, false],
    ],
  },
  "Anthropic on 26 February 2026": {
    fields: {
      Date: "Thu, 26 Feb 2026 23:33:49 GMT",
      "anthropic-ratelimit-input-tokens-limit": "450000",
      "anthropic-ratelimit-input-tokens-remaining": "450000",
      "anthropic-ratelimit-input-tokens-reset": "2026-02-26T23:33:49Z",
      "anthropic-ratelimit-output-tokens-limit": "90000",
      "anthropic-ratelimit-output-tokens-remaining": "90000",
      "anthropic-ratelimit-output-tokens-reset": "2026-02-26T23:33:49Z",
      "anthropic-ratelimit-requests-limit": "1000",
      "anthropic-ratelimit-requests-remaining": "999",
      "anthropic-ratelimit-requests-reset": "2026-02-26T23:33:48Z",
      "anthropic-ratelimit-tokens-limit": "540000",
      "anthropic-ratelimit-tokens-remaining": "540000",
      "anthropic-ratelimit-tokens-reset": "2026-02-26T23:33:49Z",
      "x-envoy-upstream-service-time": "1087",
    },
    quotas: [
      ["requests", 1_000, 999, 0, true],
      ["tokens", 540_000, 540_000, 0, false],
      ["input-tokens", 450_000, 450_000, 0, false],
      ["output-tokens", 90_000, 90_000, 0, false],
    ],
  },
};

describe("the recorded headers of", () => {
  it.each(Object.entries(recordings))("%s", (_name, { fields, quotas }) => {
    const reports = new QuotaReader().read(new Headers(fields), WALL_MS, false);
    const seen = reports.map(({ name, limit, remaining, resetMs, isOfRequests }) => {
      return [name, limit, remaining, resetMs, isOfRequests];
    });
    expect(seen).toEqual(quotas);
  });
});
