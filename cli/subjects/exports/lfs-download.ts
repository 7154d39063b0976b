import { rename } from 'node:fs/promises';
import type { StoredObject } from '../../../lambda/subjects/exports/rules/objects.ts';
import type { ApiClient } from '../../api-client.ts';
import { transferEach } from '../../at-once.ts';
import { downloadFile, type Fetched, type Offer } from '../../download-file.ts';
import { CliError } from '../../errors.ts';
import {
  askBatch,
  type BatchAnswer,
  batchObjectsMax,
  type LfsObject,
  ownRepo,
  type RepoPlace,
} from '../../lfs-batch.ts';
import type { DownloadDeps } from '../../transfer.ts';

/** Downloads objects as git-lfs does. */

/** Objects that are downloaded at a time. */
const objectsAtOnce = 8;

const gone: Offer = { kind: 'gone' };

interface BatchDeps extends DownloadDeps {
  readonly client: ApiClient;
}

interface Downloads {
  readonly tenant: string;
  readonly objects: readonly StoredObject[];
  /** Where an object lies once it is whole. Until then it lies beside that, as `.part`. */
  readonly fileOf: (oid: string) => string;
  /** Called with bytes that are there; with fewer than none if they are of no use. */
  readonly onBytes: (bytes: number) => void;
  /** Called once for each object. */
  readonly onFetched: (object: StoredObject, fetched: Fetched) => void;
}

/**
 * Downloads objects, several at a time. One that is gone, refused or failed does not hold up the others, unless it is the
 * last of so many in a row that failed.
 *
 * @throws what a download failed with, once those beside it have ended.
 */
export async function downloadObjects(deps: BatchDeps, input: Downloads): Promise<void> {
  const { fileOf, onBytes, onFetched } = input;
  await transferEach(deps, {
    atOnce: objectsAtOnce,
    itemsOf: () => offeredObjects(deps, input),
    nameOf: ({ object }) => object.oid,
    async transfer({ object, nextOffer }, stop) {
      const { oid, sizeBytes } = object;
      const part = `${fileOf(oid)}.part`;
      const fetched = await downloadFile({ ...deps, stop }, { part, sizeBytes, oid, nextOffer, onBytes });
      if (fetched.kind === 'complete') await rename(part, fileOf(oid));
      onFetched(object, fetched);
    },
    onFailed: ({ object }, { message }) => onFetched(object, { kind: 'refused', message }),
  });
}

interface OfferedObject {
  readonly object: StoredObject;
  /** The offer of its batch, then others. */
  readonly nextOffer: () => Promise<Offer>;
}

/** Asks for one batch after the other, repo by repo, when an object of it is wanted. */
async function* offeredObjects(
  deps: BatchDeps,
  { tenant, objects: all }: Pick<Downloads, 'tenant' | 'objects'>,
): AsyncGenerator<OfferedObject> {
  const byRepo = new Map<string, StoredObject[]>();
  for (const object of all) {
    const others = byRepo.get(repoOf(object)) ?? [];
    others.push(object);
    byRepo.set(repoOf(object), others);
  }
  for (const [repo, listed] of byRepo)
    for (let at = 0; at < listed.length; at += batchObjectsMax) {
      const objects = listed.slice(at, at + batchObjectsMax);
      const offersOf = async (wanted: readonly StoredObject[]) => {
        const offers = await ask(deps, { tenant, repo }, wanted);
        if (offers !== 'absent') return offers;
        // A token that was changed meanwhile must not make an archive without objects: it is the repo alone that is gone.
        await checkMayDownload(deps, { tenant, repo: null });
        return new Map(wanted.map(({ oid }) => [oid, gone]));
      };
      const offers = await offersOf(objects);
      for (const object of objects) {
        const { oid } = object;
        const nextOffer = async (): Promise<Offer> => {
          const offer = offers.get(oid) ?? (await offersOf([object])).get(oid);
          offers.delete(oid);
          return offer ?? gone;
        };
        yield { object, nextOffer };
      }
    }
}

/** The repo in an object's key, which is `tenant/repo/oid`. */
function repoOf({ key }: StoredObject): string {
  return key.split('/')[1] ?? '';
}

/**
 * Looks whether a token may download from a tenant, or from one of its repos.
 *
 * @throws {CliError} that says which token to use.
 */
export async function checkMayDownload(
  deps: BatchDeps,
  { tenant, repo }: { tenant: string; repo: string | null },
): Promise<void> {
  const nothing = { oid: '0'.repeat(64), sizeBytes: 0 };
  if ((await ask(deps, { tenant, repo: repo ?? 'any' }, [nothing])) !== 'absent') return;
  const what = repo === null ? `no tenant ${tenant}` : `no tenant ${tenant}, or no repo ${repo}`;
  throw new CliError(`Not found (404): ${what}.`, {
    failure: 'not-found',
    hint: `It doesn't exist, is being deleted, or your token is another tenant's. Set LFS_QUOTA_TOKEN or --token to a token of ${tenant}.`,
  });
}

/**
 * Asks where up to {@link batchObjectsMax} objects are downloaded.
 *
 * @returns oid → offer, one for each object; `absent` if the tenant or the repo is not there for the token.
 * @throws {CliError}
 */
async function ask(
  deps: BatchDeps,
  place: RepoPlace,
  objects: readonly LfsObject[],
): Promise<Map<string, Offer> | 'absent'> {
  const answers = await askBatch(deps, ownRepo(deps.client, place), { operation: 'download', objects });
  if (answers === 'absent') return answers;
  return new Map(objects.map(({ oid }) => [oid, offerOf(answers.get(oid))]));
}

function offerOf(answer: BatchAnswer | undefined): Offer {
  const download = answer?.actions?.download;
  if (download) return { kind: 'offered', ...download };
  if (answer?.error?.code === 404) return gone;
  return { kind: 'refused', message: answer?.error?.message ?? 'The server offered no download.' };
}
