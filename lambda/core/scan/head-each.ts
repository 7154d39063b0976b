import { mapLimited } from '../rules/async.ts';
import { type ObjectStore, type StoredObject, StoreUnavailableError } from '../store/rules/store.ts';

const headsAtOnce = 32;

/**
 * Asks for each of these objects.
 *
 * @returns name → what is stored. undefined: the store did not answer for each.
 */
export async function headEach(
  { store }: { readonly store: Pick<ObjectStore, 'head'> },
  { prefix, names }: { prefix: string; names: Iterable<string> },
): Promise<ReadonlyMap<string, StoredObject | undefined> | undefined> {
  const asked = [...names];
  try {
    const found = await mapLimited(asked, headsAtOnce, (name) => store.head(prefix + name));
    return new Map(asked.map((name, index) => [name, found[index]]));
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return undefined;
  }
}
