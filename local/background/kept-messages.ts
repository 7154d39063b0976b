import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../lambda/domain/json.ts';
import type { WebhookMessage } from '../../lambda/ports/webhooks.ts';
import { explainFullDisk } from '../explain-full-disk.ts';
import { readIfThere, writeDurably } from '../system/durable-file.ts';
import type { Delivery } from './pump.ts';

type Kept = Delivery<WebhookMessage>;

/** What is to be sent to webhooks, in a file. */
export interface KeptMessages {
  /** Replaces what was kept before. @throws {StorageFullError} when the disk is full. */
  save(messages: readonly Kept[]): Promise<void>;
  /** What was kept by an earlier process. */
  load(): Promise<readonly Kept[]>;
}

/** @param folder of the data. The file is there as long as something waits. */
export function openKeptMessages(folder: string): KeptMessages {
  const file = join(folder, 'webhook-queue.json');
  let isEmpty = false;
  return {
    async save(messages) {
      if (messages.length === 0) {
        if (!isEmpty) await rm(file, { force: true });
        isEmpty = true;
        return;
      }
      isEmpty = false;
      try {
        await writeDurably(file, JSON.stringify(messages));
      } catch (error) {
        throw explainFullDisk(error);
      }
    },
    async load() {
      const text = await readIfThere(file);
      const read = text === undefined ? undefined : parseJson(text);
      return Array.isArray(read) ? read.filter(isKept) : [];
    },
  };
}

/** Whether it can be delivered. What its message says, its consumer looks at. */
function isKept(value: unknown): value is Kept {
  if (typeof value !== 'object' || value === null) return false;
  const { message, messageId, failures } = value as Readonly<Record<string, unknown>>;
  return (
    typeof message === 'object' &&
    message !== null &&
    typeof messageId === 'string' &&
    Number.isSafeInteger(failures)
  );
}
