import { join } from 'node:path';
import type { Ids } from '../../lambda/ports/ids.ts';
import { StartupError } from '../startup-error.ts';
import { readIfThere, writeDurably } from './durable-file.ts';

export interface StoreCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Characters that an admin token from outside must have at least: what is guessed must not be it. */
const adminTokenLengthMin = 16;

/**
 * The admin token: the one that is given, or one that is made once and kept (readable by this user alone).
 *
 * @throws {StartupError} where the given one is too short, or can't stand in a header.
 */
export async function adminTokenOf(
  input: { folder: string; given: string | undefined },
  ids: Ids,
): Promise<{ token: string; origin: 'given' | 'kept' | 'made' }> {
  const { folder, given } = input;
  if (given !== undefined && given !== '') {
    if (given.length < adminTokenLengthMin || !/^[\x21-\x7e]+$/.test(given)) {
      throw new StartupError(
        `LFS_QUOTA_ADMIN_TOKEN must be ${adminTokenLengthMin} or more visible ASCII characters without blanks. ` +
          'Set a longer one, or unset it: one is made then.',
      );
    }
    return { token: given, origin: 'given' };
  }
  const file = join(folder, 'admin-token');
  const kept = (await readIfThere(file))?.trim();
  if (kept !== undefined && kept.length >= adminTokenLengthMin) return { token: kept, origin: 'kept' };
  const token = `lfsq_${ids.random(40)}`;
  await writeDurably(file, `${token}\n`);
  return { token, origin: 'made' };
}

/** The credentials of the store, made once: URLs that were signed before a restart stay good after it. */
export async function storeCredentialsOf(folder: string, ids: Ids): Promise<StoreCredentials> {
  const file = join(folder, 'store-credentials.json');
  const kept = readCredentials(await readIfThere(file));
  if (kept !== undefined) return kept;
  const credentials = { accessKeyId: `LFSQ${ids.random(16).toUpperCase()}`, secretAccessKey: ids.random(40) };
  await writeDurably(file, `${JSON.stringify(credentials)}\n`);
  return credentials;
}

function readCredentials(text: string | undefined): StoreCredentials | undefined {
  try {
    const read: unknown = JSON.parse(text ?? 'null');
    if (typeof read !== 'object' || read === null || !('accessKeyId' in read)) return undefined;
    if (!('secretAccessKey' in read) || typeof read.secretAccessKey !== 'string') return undefined;
    if (typeof read.accessKeyId !== 'string') return undefined;
    return { accessKeyId: read.accessKeyId, secretAccessKey: read.secretAccessKey };
  } catch {
    return undefined;
  }
}
