import { randomUUID } from 'node:crypto';
import type { RecountQueue, RecountRequest } from '../../lambda/ports/recount-queue.ts';
import { mergeMessages, newMessage, type QueueMessage } from '../../local/background/queue-message.ts';

/**
 * A queue that counts what is sent, and delivers only when it is told to. So no recount begins in the middle of what is
 * measured.
 */
export class CollectingQueue implements RecountQueue {
  #sends = 0;
  readonly #waiting = new Map<string, QueueMessage>();

  async request(request: RecountRequest): Promise<void> {
    this.#sends += 1;
    const message = newMessage(request, { nowMs: Date.now(), messageId: randomUUID() });
    const older = this.#waiting.get(request.tenant);
    this.#waiting.set(request.tenant, older === undefined ? message : mergeMessages(older, message));
  }

  async requestAll(requests: readonly RecountRequest[]): Promise<void> {
    for (const request of requests) await this.request(request);
  }

  /** @returns the sends since the last call. */
  takeSends(): number {
    const sends = this.#sends;
    this.#sends = 0;
    return sends;
  }

  /** @returns what waits, one message a tenant. */
  takeWaiting(): QueueMessage[] {
    const taken = [...this.#waiting.values()];
    this.#waiting.clear();
    return taken;
  }
}
