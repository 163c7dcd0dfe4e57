// The files that the guide points to, and those that it shows, are files that work, and fit each other.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { descriptor, limiterOf } from "../../test/envoy-harness.js";
import { toConfig } from "../config/load.js";

const root = new URL("../../../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** What a test reads of Envoy's configuration. */
interface EnvoyFile {
  static_resources: {
    listeners: {
      filter_chains: {
        filters: {
          typed_config: {
            route_config: { virtual_hosts: { rate_limits: { actions: object[] }[] }[] };
            http_filters: { name: string; typed_config: { domain?: string } }[];
          };
        }[];
      }[];
    }[];
  };
}

it("examples/service/envoy.yaml sends descriptors that examples/service/ratelimit.yaml limits", async () => {
  const { static_resources: resources } = parse(read("examples/service/envoy.yaml")) as EnvoyFile;
  const manager = resources.listeners[0].filter_chains[0].filters[0].typed_config;
  const filter = manager.http_filters.find(({ name }) => name === "envoy.filters.http.ratelimit");
  const domain = filter?.typed_config.domain as string;
  const values: Record<string, string> = {
    remote_address: "192.0.2.1",
    tenant: "acme",
    path: "/search?q=x",
    login: "alice",
  };
  const descriptors = manager.route_config.virtual_hosts[0].rate_limits.map(({ actions }) => {
    const keys = actions.map((action) => {
      const [[kind, about]] = Object.entries(action) as [string, { descriptor_key?: string }][];
      return about.descriptor_key ?? kind;
    });
    return descriptor(Object.fromEntries(keys.map((key) => [key, values[key]])));
  });
  const limiter = limiterOf(read("examples/service/ratelimit.yaml"));
  const { statuses } = await limiter.decide({ domain, descriptors, hits: 0 });
  expect(statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit)).toEqual([
    50, 600, 60, 20,
  ]);
});

it("every file that the guide shows can be used", () => {
  const guide = read("docs/guides/envoy.md");
  const files = [...guide.matchAll(/```yaml\n(domain:[\s\S]*?)```/g)].map(([, text]) => text);
  expect(files.length).toBeGreaterThan(0);
  for (const text of files) limiterOf(text);
});

it("every sluice.yaml that the guide shows can be used", () => {
  const guide = read("docs/guides/envoy.md");
  const files = [...guide.matchAll(/```yaml\n(# sluice\.yaml\n[\s\S]*?)```/g)].map(
    ([, text]) => text,
  );
  expect(files.length).toBeGreaterThan(1);
  for (const text of files) {
    const { envoy, ...rest } = parse(text) as { envoy: object };
    const env = { REDIS_URL: "redis://127.0.0.1:6379" };
    // Only the files that they name are not here.
    const { envoy: config } = toConfig({ ...rest, envoy: { ...envoy, files: ["."] } }, { env });
    expect(config).toBeDefined();
  }
});
