import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Message, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Outputs } from './deployment.ts';
import type { Emulator } from './emulator.ts';

/** The reconcile queue and its dead-letter queue, as an operator reaches them. */
export class ReconcileQueue {
  readonly #outputs: Outputs;
  readonly #client: SQSClient;

  constructor(emulator: Emulator, outputs: Outputs) {
    const { endpoint, region, credentials } = emulator;
    this.#outputs = outputs;
    this.#client = new SQSClient({
      endpoint,
      region,
      credentials,
      useQueueUrlAsEndpoint: false,
      requestHandler: { httpsAgent: { ca: readFileSync(emulator.certificateFile) } },
    });
  }

  /** @returns the message's id. */
  async send(input: { group: string; body: string }): Promise<string> {
    const sent = await this.#client.send(
      new SendMessageCommand({
        QueueUrl: this.#outputs.QueueUrl,
        MessageBody: input.body,
        MessageGroupId: input.group,
        MessageDeduplicationId: `${input.group}.${input.body.length}`,
      }),
    );
    return sent.MessageId ?? '';
  }

  /** Waits until there are so many dead letters or the time is up. @returns all of them. They stay in their queue. */
  async deadLetters(input: { atLeast: number; timeoutMs: number }): Promise<Message[]> {
    const giveUpAtMs = performance.now() + input.timeoutMs;
    for (;;) {
      const { Messages = [] } = await this.#client.send(
        new ReceiveMessageCommand({
          QueueUrl: this.#outputs.DlqUrl,
          MaxNumberOfMessages: 10,
          VisibilityTimeout: 0,
          MessageSystemAttributeNames: ['All'],
        }),
      );
      if (Messages.length >= input.atLeast || performance.now() > giveUpAtMs) return Messages;
      await sleep(500);
    }
  }

  close(): void {
    this.#client.destroy();
  }
}
