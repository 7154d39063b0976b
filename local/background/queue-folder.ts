import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCorrelationId } from '../../lambda/domain/invocation.ts';
import { parseJson } from '../../lambda/domain/json.ts';
import { isRecountReason } from '../../lambda/domain/recount-policy.ts';
import { explainFullDisk } from '../explain-full-disk.ts';
import { readIfThere, unfinishedSuffix, writeDurably } from '../system/durable-file.ts';
import { newMessage, type QueueMessage } from './queue-message.ts';

/** The queue's files: one for each tenant with a pending recount. */
export interface QueueFolder {
  /** @throws {StorageFullError} when the disk is full. */
  save(message: QueueMessage): Promise<void>;
  remove(tenant: string): Promise<void>;
  /** Keeps a message that failed too often as a dead letter. @returns the file's path. */
  saveDead(message: QueueMessage): Promise<string>;
  load(nowMs: number): Promise<readonly QueueMessage[]>;
  /** Tenants that have a dead letter. */
  countDead(): Promise<number>;
  /** The folder of the dead letters. */
  readonly deadPath: string;
}

const suffix = '.json';

export async function openQueueFolder(path: string): Promise<QueueFolder> {
  const deadPath = join(path, 'dead-letters');
  await mkdir(deadPath, { recursive: true, mode: 0o700 });
  const fileOf = (tenant: string) => join(path, `${encodeURIComponent(tenant)}${suffix}`);
  return {
    async save(message) {
      try {
        await writeDurably(fileOf(message.tenant), JSON.stringify(message));
      } catch (error) {
        throw explainFullDisk(error);
      }
    },
    remove: (tenant) => rm(fileOf(tenant), { force: true }),
    async saveDead(message) {
      // One file for each tenant, the newest, so that dead letters cannot fill the disk.
      const file = join(deadPath, `${encodeURIComponent(message.tenant)}${suffix}`);
      await writeDurably(file, JSON.stringify(message));
      return file;
    },
    load: (nowMs) => loadAll(path, nowMs),
    countDead: async () => (await readdir(deadPath)).filter((name) => name.endsWith(suffix)).length,
    deadPath,
  };
}

async function loadAll(path: string, nowMs: number): Promise<readonly QueueMessage[]> {
  const messages: QueueMessage[] = [];
  for (const name of await readdir(path)) {
    if (name.endsWith(unfinishedSuffix)) await rm(join(path, name), { force: true });
    if (!name.endsWith(suffix)) continue;
    const tenant = decodeURIComponent(name.slice(0, -suffix.length));
    messages.push(decode(tenant, (await readIfThere(join(path, name))) ?? '', nowMs));
  }
  return messages;
}

/**
 * Decodes a stored message. A damaged file still shows that its tenant needs a recount, so it becomes a full one. Times
 * in the future, possible when the clock was set back, become now.
 */
function decode(tenant: string, text: string, nowMs: number): QueueMessage {
  const fresh = newMessage(
    { tenant, reason: 'unfinished', full: true },
    { nowMs, messageId: `restored-${tenant}` },
  );
  const read = fieldsOf(parseJson(text));
  if (!isRecountReason(read['reason']) || typeof read['full'] !== 'boolean') return fresh;
  const timeOf = (key: string) => Math.min(nowMs, typeof read[key] === 'number' ? read[key] : nowMs);
  return {
    tenant,
    reason: read['reason'],
    full: read['full'],
    messageId: typeof read['messageId'] === 'string' ? read['messageId'] : fresh.messageId,
    correlationId: isCorrelationId(read['correlationId']) ? read['correlationId'] : undefined,
    firstAtMs: timeOf('firstAtMs'),
    lastAtMs: timeOf('lastAtMs'),
    prompt: read['prompt'] === true,
    failures: typeof read['failures'] === 'number' ? read['failures'] : 0,
    notBeforeMs: 0,
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
