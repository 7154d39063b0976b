import { join } from 'node:path';
import * as z from 'zod';
import { parseJson } from '../../lambda/domain/json.ts';
import type { Ids } from '../../lambda/ports/ids.ts';
import type { StoreCredentials } from '../store/signed-request.ts';
import { readIfThere, writeDurably } from '../system/durable-file.ts';
import { StartupError } from '../system/startup-error.ts';

const credentialsSchema = z.object({ accessKeyId: z.string(), secretAccessKey: z.string() });

/** Shortest admin token that is accepted from the environment, so that it cannot be guessed. */
const adminTokenLengthMin = 16;

/**
 * The admin token: the given one, or one that is created once and kept in a file that only this user can read.
 *
 * @throws {StartupError} when the given one is too short, or has characters that no header may have.
 */
export async function adminTokenOf(
  input: { folder: string; given: string | undefined },
  ids: Ids,
): Promise<{ token: string; origin: 'given' | 'kept' | 'created' }> {
  const { folder, given } = input;
  if (given !== undefined && given !== '') {
    if (given.length < adminTokenLengthMin || !/^[\x21-\x7e]+$/.test(given)) {
      throw new StartupError(
        `LFS_QUOTA_ADMIN_TOKEN must have at least ${adminTokenLengthMin} visible ASCII characters and no spaces. ` +
          'Set another one, or unset it and let `npm start` create one.',
      );
    }
    return { token: given, origin: 'given' };
  }
  const file = join(folder, 'admin-token');
  const kept = (await readIfThere(file))?.trim();
  if (kept !== undefined && kept.length >= adminTokenLengthMin) return { token: kept, origin: 'kept' };
  const token = `lfsq_${ids.random(40)}`;
  await writeDurably(file, `${token}\n`);
  return { token, origin: 'created' };
}

/** The credentials of the store. They are created once, so that presigned URLs stay valid after a restart. */
export async function storeCredentialsOf(folder: string, ids: Ids): Promise<StoreCredentials> {
  const file = join(folder, 'store-credentials.json');
  const kept = readCredentials(await readIfThere(file));
  if (kept !== undefined) return kept;
  const credentials = { accessKeyId: `LFSQ${ids.random(16).toUpperCase()}`, secretAccessKey: ids.random(40) };
  await writeDurably(file, `${JSON.stringify(credentials)}\n`);
  return credentials;
}

function readCredentials(text: string | undefined): StoreCredentials | undefined {
  const parsed = credentialsSchema.safeParse(parseJson(text ?? ''));
  return parsed.success ? parsed.data : undefined;
}
