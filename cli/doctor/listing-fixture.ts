import { compareKeys } from '../../lambda/domain/key-order.ts';
import { mapAtOnce } from './map-at-once.ts';
import type { ListedKeys, Probe } from './probe.ts';

/** Names that orders, patterns and encodings could take for others. Slashes are in the check of folders. */
const asciiNames = ['-', '0', '9', 'A', 'B', 'Z', '_', 'a', 'a b', 'a%20b', 'a&b', 'a+b', 'b', 'z', '~'];

/** Among them one beyond U+FFFF, which sorts by UTF-16 before U+FB01, and by UTF-8 after it. */
const otherNames = ['é', '日本', '\ufb01', '😀'];

export interface ListingFixture {
  readonly prefix: string;
  /** In the order of their UTF-8 bytes. Each has a size of its own. */
  readonly objects: readonly { readonly key: string; readonly sizeBytes: number }[];
}

/** Objects with ASCII names, once a run, and two beside them that have not all of the prefix. */
export function asciiFixture(probe: Probe): Promise<ListingFixture> {
  return probe.once('ascii fixture', async () => {
    const folder = probe.newKey();
    await probe.put(`${folder}0`, Buffer.from('beside'));
    return await write(probe, `${folder}/`, asciiNames);
  });
}

/** Objects with other names, once a run. */
export function unicodeFixture(probe: Probe): Promise<ListingFixture> {
  return probe.once('unicode fixture', () => write(probe, `${probe.newKey()}/`, [...otherNames, 'a', 'z']));
}

async function write(probe: Probe, prefix: string, names: readonly string[]): Promise<ListingFixture> {
  const objects = names.map((name, index) => ({ key: prefix + name, sizeBytes: index + 1 }));
  await mapAtOnce(objects, ({ key, sizeBytes }) => probe.put(key, Buffer.alloc(sizeBytes, 'x')));
  return { prefix, objects: objects.sort((a, b) => compareKeys(a.key, b.key)) };
}

/**
 * All pages below a prefix with `keysMax` keys.
 *
 * @throws {Error} when there are more pages than one for each key and two empty ones.
 */
export async function walk(
  probe: Probe,
  { prefix, maxKeys, keysMax }: { prefix: string; maxKeys: number; keysMax: number },
): Promise<ListedKeys['keys'][]> {
  const pages: ListedKeys['keys'][] = [];
  let token: string | undefined;
  do {
    const page = await probe.list({
      prefix,
      maxKeys,
      ...(token !== undefined && { continuationToken: token }),
    });
    pages.push(page.keys);
    token = page.nextContinuationToken;
    if (token !== undefined && pages.length >= keysMax + 2)
      throw new Error(
        `After ${pages.length} pages of ${keysMax} keys there is still a token for another one.`,
      );
  } while (token !== undefined);
  return pages;
}

/** The names below a prefix, for a sentence. */
export function namesOf(keys: readonly string[], prefix: string): string {
  const names = keys.map((key) => JSON.stringify(key.startsWith(prefix) ? key.slice(prefix.length) : key));
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown}, and ${names.length - 5} more` : shown || 'nothing';
}
