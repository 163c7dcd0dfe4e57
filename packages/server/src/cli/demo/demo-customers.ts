// The customers of the demo: a plan, two tenants and their API keys, made through the admin port as an operator would.

/** The secrets of the customers' API keys. */
export interface DemoKeys {
  readonly acme: string;
  readonly globex: string;
}

const REASON = "set up by the demo";

/** Makes the customers. @throws Error if the admin port does not do it. */
export async function makeCustomers(admin: string): Promise<DemoKeys> {
  const send = async (method: string, path: string, body: object) => {
    const headers = { "content-type": "application/json", "sluice-reason": REASON };
    const response = await fetch(admin + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as { readonly secret?: string };
  };
  const makeKey = async (tenant: string) => {
    const made = await send("POST", "/v1/api-keys", { tenant, name: "web" });
    return made.secret ?? "";
  };
  await send("PUT", "/v1/plans/pro", { tier: "pro" });
  await send("PUT", "/v1/plans/free", {});
  await send("PUT", "/v1/tenants/acme", { plan: "pro" });
  await send("PUT", "/v1/tenants/globex", { plan: "free" });
  return { acme: await makeKey("acme"), globex: await makeKey("globex") };
}
