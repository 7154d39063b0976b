import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { ownFolders } from '../../core/store/rules/own-folders.ts';
import { listPages } from '../../core/store/rules/store.ts';
import { type Finding, fine, type StatusPart, unknown } from './rules/status.ts';

/** LIST requests for one folder: 10,000 files. */
const pagesMax = 10;

/** What lies below one of the service's own folders. `isCut`: there's more. */
interface FolderSum {
  readonly folder: string;
  readonly bytes: number;
  readonly isCut: boolean;
}

/** What the service stores beside objects, which no usage counts. @throws {StoreUnavailableError} */
export function readUncounted({ listing }: Pick<CoreDeps, 'listing'>): Promise<FolderSum[]> {
  const read = async (folder: string): Promise<FolderSum> => {
    let [pages, bytes, isCut] = [0, 0, false];
    for await (const page of listPages(listing, { prefix: `${folder}/` })) {
      [pages, bytes, isCut] = [pages + 1, bytes + page.totalBytes, page.isTruncated];
      if (pages === pagesMax) break;
    }
    return { folder, bytes, isCut };
  };
  return Promise.all(Object.values(ownFolders).map(read));
}

export function uncountedPart(found: Finding<readonly FolderSum[]>): StatusPart {
  if (!found.ok)
    return unknown(
      'uncounted',
      "The store's own folders can't be listed",
      found.why,
      'Check the store: lfs-quota doctor.',
    );
  const sums = found.value.map(
    ({ folder, bytes, isCut }) => `${folder}/ ${isCut ? 'more than ' : ''}${formatBytes(bytes)}`,
  );
  return fine('uncounted', `Stored, but not counted as usage: ${sums.join(', ')}.`);
}
