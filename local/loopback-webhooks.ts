import { request } from 'node:http';
import { createWebhookSender } from '../lambda/adapters/webhook/webhook-sender.ts';
import { isLoopbackHost } from '../lambda/domain/webhook.ts';
import type { WebhookSender } from '../lambda/ports/webhooks.ts';

/** For tests and development: receivers on this machine are reached by plain HTTP. All others as they always are. */
export function withLoopback(sender: WebhookSender): WebhookSender {
  return {
    post(input) {
      const { protocol, hostname, port } = new URL(input.url);
      if (protocol !== 'http:' || !isLoopbackHost(hostname)) return sender.post(input);
      const plain = createWebhookSender({
        resolve: async () => [hostname.replace(/^\[|\]$/g, '')],
        isPublic: () => true,
        request: (options) => request({ ...options, port: port || 80 }),
      });
      return plain.post(input);
    },
  };
}
