// Limits by network: one address, the /24 around it, its autonomous system. An attacker who rotates through addresses
// meets the wider limits, and an address of no known network is counted by itself.

import { createPolicy, type Network } from "sluice/rules";
import { ManualClock } from "sluice/testing";

/** In production, a reader of MMDB files. */
function networkOf(address: string): Network | undefined {
  if (address.startsWith("203.0.113.")) return { asn: 64500, country: "DE" };
  return address.startsWith("198.51.100.") ? { asn: 64500, country: "FR" } : undefined;
}

const policy = createPolicy({
  clock: new ManualClock(), // Leave it out: here it makes the output the same each time.
  networkOf,
  rules: {
    version: 1,
    rules: [
      { id: "address", limit: "2/minute" },
      { id: "prefix", key: "ipPrefix/24", limit: "4/minute" },
      { id: "system", key: "asn", onMissing: "skip", limit: "6/minute" },
      { id: "france", match: { country: "FR" }, key: "country", limit: "3/minute" },
    ],
  },
});

const addresses = ["203.0.113.1", "203.0.113.2", "203.0.113.3", "198.51.100.1", "192.0.2.1"];
for (const ip of addresses) {
  for (let i = 0; i < 3; i++) {
    const { allowed, rule } = await policy.admit({ method: "GET", path: "/", ip });
    if (!allowed) console.log(`${ip}: request ${i + 1} is refused by ${rule}`);
  }
}
await policy.close();

// Prints:
// 203.0.113.1: request 3 is refused by address
// 203.0.113.2: request 3 is refused by address
// 203.0.113.3: request 1 is refused by prefix
// 203.0.113.3: request 2 is refused by prefix
// 203.0.113.3: request 3 is refused by prefix
// 198.51.100.1: request 3 is refused by address
// 192.0.2.1: request 3 is refused by address
