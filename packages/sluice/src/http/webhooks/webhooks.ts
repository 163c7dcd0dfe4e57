/**
 * Signs and verifies the webhooks of Sluice: what a service sends when a quota is used up to a set share.
 *
 * @module
 */

export {
  type SignWebhookOptions,
  signWebhook,
  WEBHOOK_HEADERS,
  type WebhookHeaders,
} from "./sign-webhook.js";
export {
  type VerifiedWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookProblem,
} from "./verify-webhook.js";
