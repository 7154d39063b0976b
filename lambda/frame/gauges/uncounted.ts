import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { ownFolders } from '../../core/store/rules/own-folders.ts';
import { listPages } from '../../core/store/rules/store.ts';

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
