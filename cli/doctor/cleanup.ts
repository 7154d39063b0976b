import { cleanupPagesMax, cleanupPassesMax } from './limits.ts';
import { mapAtOnce } from './map-at-once.ts';
import { abortPartUploads } from './multipart-checks.ts';
import type { Probe } from './probe.ts';

export interface Cleanup {
  /** Keys that are still there, as far as it could be seen. */
  readonly left: readonly string[];
  /** Multipart uploads that could not be ended. */
  readonly uploadsLeft: number;
  /** Why something is left, if the store said so. */
  readonly error?: unknown;
}

/**
 * Deletes all that a run wrote, and what else is below its prefix. It looks again afterwards. Never rejects.
 */
export async function cleanUp(probe: Probe): Promise<Cleanup> {
  if (probe.written.size === 0) return { left: [], uploadsLeft: 0 };
  const uploadsLeft = await abortPartUploads(probe);
  let left: readonly string[] = [...probe.written];
  try {
    let last: unknown;
    for (let passes = 0; left.length > 0 && passes < cleanupPassesMax; passes += 1) {
      const listed = await listAll(probe);
      const keys = passes === 0 ? [...new Set([...listed, ...left])] : listed;
      last = await mapAtOnce(keys, (key) => probe.delete(key)).then(
        () => undefined,
        (error: unknown) => error,
      );
      left = await listAll(probe);
    }
    return { left, uploadsLeft, ...(left.length > 0 && last !== undefined && { error: last }) };
  } catch (error) {
    return { left, uploadsLeft, error };
  }
}

async function listAll(probe: Probe): Promise<string[]> {
  const keys: string[] = [];
  const { prefix } = probe.target;
  let token: string | undefined;
  for (let pages = 0; pages === 0 || (token !== undefined && pages < cleanupPagesMax); pages += 1) {
    const page = await probe.list({ prefix, ...(token !== undefined && { continuationToken: token }) });
    // A store that ignores prefixes would name the objects of others.
    keys.push(...page.keys.map(({ key }) => key).filter((key) => key.startsWith(prefix)));
    token = page.nextContinuationToken;
  }
  return keys;
}
