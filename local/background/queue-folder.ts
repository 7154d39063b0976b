import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCorrelationId } from '../../lambda/domain/invocation.ts';
import { isRecountReason } from '../../lambda/domain/recount-policy.ts';
import { readIfThere, unfinishedSuffix, writeDurably } from '../data/durable-file.ts';
import { newMessage, type QueueMessage } from './queue-message.ts';

/** Where the queue keeps what is owed: one file a tenant, gone when the tenant's recount succeeded. */
export interface QueueFolder {
  save(message: QueueMessage): Promise<void>;
  remove(tenant: string): Promise<void>;
  /** Lays a message aside that keeps failing. @returns the file's path. */
  saveDead(message: QueueMessage): Promise<string>;
  load(nowMs: number): Promise<readonly QueueMessage[]>;
}

const suffix = '.json';

export async function openQueueFolder(path: string): Promise<QueueFolder> {
  const deadPath = join(path, 'dead-letters');
  await mkdir(deadPath, { recursive: true, mode: 0o700 });
  const fileOf = (tenant: string) => join(path, `${encodeURIComponent(tenant)}${suffix}`);
  return {
    save: (message) => writeDurably(fileOf(message.tenant), JSON.stringify(message)),
    remove: (tenant) => rm(fileOf(tenant), { force: true }),
    async saveDead(message) {
      // One file a tenant, the newest: what is laid aside can't fill the disk.
      const file = join(deadPath, `${encodeURIComponent(message.tenant)}${suffix}`);
      await writeDurably(file, JSON.stringify(message));
      return file;
    },
    load: (nowMs) => loadAll(path, nowMs),
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
 * Reads a message back. A file that can't be read still says that its tenant is owed a recount: a full one
 * then. Times are kept out of the future, which a clock that was set back would put them in.
 */
function decode(tenant: string, text: string, nowMs: number): QueueMessage {
  const fresh = newMessage(
    { tenant, reason: 'unfinished', full: true },
    { nowMs, messageId: `restored-${tenant}` },
  );
  const read = parse(text);
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

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
