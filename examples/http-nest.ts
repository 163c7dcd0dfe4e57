// NestJS: a module, a guard for all routes, and decorators for routes that differ. An application writes the
// decorators with @; this example is compiled without that syntax, so it calls them as functions.

import "reflect-metadata";
import type { AddressInfo } from "node:net";
import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { fixedWindow } from "sluice";
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from "sluice/nest";
import { ManualClock } from "sluice/testing";

class Cats {
  list(): string {
    return "all cats";
  }
  adopt(): string {
    return "yours";
  }
  health(): string {
    return "fine";
  }
}
const method = (name: keyof Cats, ...decorators: MethodDecorator[]) => {
  for (const one of decorators) one(Cats.prototype, name, { value: Cats.prototype[name] });
};
method("list", Get());
method("adopt", Get("adopt"), RateLimit({ limit: fixedWindow({ limit: 1, windowMs: 60_000 }) }));
method("health", Get("health"), SkipRateLimit());
Controller("cats")(Cats);

const clock = new ManualClock(); // Leave it out: here it makes the output the same each time.
class App {}
Module({
  imports: [
    RateLimitModule.forRoot({
      limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
      clock,
      statusPath: "rate_limit",
    }),
  ],
  controllers: [Cats],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(App);

const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
await app.listen(0, "127.0.0.1");
const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
for (const path of ["cats", "cats", "cats", "cats/adopt", "cats/adopt", "cats/health"]) {
  const { status, headers } = await fetch(`${url}/${path}`);
  console.log(`${path}: ${status} ${headers.get("ratelimit") ?? "not counted"}`);
}
await app.close();

// Prints:
// cats: 200 "default";r=1;t=60
// cats: 200 "default";r=0;t=60
// cats: 429 "default";r=0;t=60
// cats/adopt: 200 "Cats.adopt";r=0;t=60
// cats/adopt: 429 "Cats.adopt";r=0;t=60
// cats/health: 200 not counted
