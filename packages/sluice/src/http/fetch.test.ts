import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { describeFramework } from "../../test/http/framework-cases.js";
import { type FrameworkHarness, listen, toBody } from "../../test/http/framework-harness.js";
import { rateLimit } from "./fetch.js";

const fetchHandler: FrameworkHarness = {
  name: "a fetch handler",
  without: {
    "adds its fields to the framework's response to an error":
      "the runtime makes that response after the handler has thrown",
  },
  start: ([first, second], handle) => {
    const limit = rateLimit(first as never, second as never);
    const handler = limit.wrap(async (request, _info: unknown) => {
      const { pathname, search } = new URL(request.url);
      const {
        status = 200,
        headers = {},
        body,
      } = await handle({
        method: request.method,
        target: pathname + search,
        text: () => request.text(),
        rateLimit: limit.infoOf(request),
      });
      return new Response(toBody(body), { status, headers });
    });
    const route = (request: Request, info: unknown) =>
      new URL(request.url).pathname === "/rate_limit"
        ? limit.status(request, info)
        : handler(request, info);
    const onError = () => new Response("Internal Server Error", { status: 500 });
    return listen(createServer(getRequestListener(route, { errorHandler: onError })));
  },
};

describeFramework(fetchHandler);
