import { forEachLimited } from '../../core/rules/async.ts';
import { absent, exists, type Fields, setting } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import {
  deleteItem,
  inPartition,
  methodsOn,
  ofKind,
  pagesOf,
  putItem,
  type Table,
  updateItem,
} from '../../core/table/requests.ts';
import { expiring, kindKey, timeText } from '../../core/table/table.ts';
import {
  type ChunkedUpload,
  claimedForMs,
  dueAtMs,
  type Proof,
  proofSchema,
  type UploadPath,
  uploadSchema,
} from './rules/upload.ts';

/** All uploads of an object. A part of a key has no `#`. */
const partitionOf = ({ tenant, repo, oid }: Omit<UploadPath, 'upload'>) => `UPLOAD#${tenant}#${repo}#${oid}`;

/** Of an upload's chunks: there are up to 10,000. All large objects of a batch have its reservation's id. */
const chunkPartition = ({ upload, oid }: UploadPath) => `UPLOAD#${upload}#${oid}`;
const number = (chunk: number) => String(chunk).padStart(5, '0');
/** What a frozen function writes may land when its upload is removed. The table removes it then. */
const expiry = ({ createdAtMs }: ChunkedUpload) => expiring(createdAtMs + claimedForMs);
/** Before all proofs. */
const sha256Key = (path: UploadPath, chunk: number) => ({
  pk: chunkPartition(path),
  sk: `#${number(chunk)}`,
});
const allProofs = { from: '0', to: '~' };

/** The kind of uploads in the index that a worker has to look at, in the order of the times by which. */
const dueKind = 'UPLOADS';

const records = recordsOf<UploadPath, ChunkedUpload>({
  keyOf: (path) => ({ pk: partitionOf(path), sk: path.upload }),
  schema: uploadSchema,
  fields: (upload) => ({ ...kindKey(dueKind, `${timeText(dueAtMs(upload))}#${upload.upload}`), ...upload }),
});
const proofRecords = recordsOf({
  keyOf: ({ chunk, ...path }: UploadPath & Pick<Proof, 'chunk'>) => ({
    pk: chunkPartition(path),
    sk: number(chunk),
  }),
  schema: proofSchema,
});

/** Chunked uploads and the proofs of their chunks, in partitions of their own. All throw {@link LedgerUnavailableError}. */
export function createDynamoDbChunkedUploads(table: Table) {
  return methodsOn(table, {
    put: records.create,
    read: records.read,
    ofObject,
    change,
    remove,
    listDue,
    fixSha256s,
    putProof,
    readProof,
    proofs,
    deleteProof,
  });
}

export type ChunkedUploads = ReturnType<typeof createDynamoDbChunkedUploads>;

/** Uploads of an object that are read, at most. Others of so many are not found. */
const ofObjectMax = 100;

/** Those of an object, in any state. */
async function ofObject(table: Table, object: Omit<UploadPath, 'upload'>): Promise<readonly ChunkedUpload[]> {
  return await records.first(table, { ...inPartition(partitionOf(object)), Limit: ofObjectMax });
}

/**
 * Changes an upload as {@link changeItem} does.
 *
 * @param changeOf answers undefined to leave it as it is.
 * @returns the upload as it is now, and whether the function changed it. undefined: there is none.
 */
async function change(
  table: Table,
  path: UploadPath,
  changeOf: (upload: ChunkedUpload) => ChunkedUpload | undefined,
): Promise<{ upload: ChunkedUpload; isChanged: boolean } | undefined> {
  const changed = await records.change(table, path, (upload) => upload && changeOf(upload));
  return changed.record && { upload: changed.record, isChanged: changed.isChanged };
}

const writesAtOnce = 16;

/** Removes an upload, after what is known of its chunks. One that does not exist is no error. */
async function remove(table: Table, path: UploadPath): Promise<void> {
  const pk = chunkPartition(path);
  for await (const items of pagesOf(table, inPartition(pk)))
    await forEachLimited(items, writesAtOnce, async ({ sk }) => {
      await deleteItem(table, { key: { pk, sk: String(sk) } });
    });
  await records.remove(table, path);
}

/** Uploads of all tenants that a worker has to look at by now: see `dueAtMs`. Eventually consistent. */
async function* listDue(table: Table, { nowMs }: { nowMs: number }): AsyncIterable<readonly UploadPath[]> {
  const pages = pagesOf(table, ofKind(dueKind, { before: timeText(nowMs + 1) }));
  for await (const keys of pages) yield keys.map(pathOfKey);
}

function pathOfKey(key: Fields): UploadPath {
  const [, tenant = '', repo = '', oid = ''] = String(key['pk']).split('#');
  return { tenant, repo, oid, upload: String(key['sk']) };
}

/**
 * Fixes the SHA-256 of chunks: no URL of a chunk is signed for other bytes than its first one. So an ETag, which can be an
 * MD5, never stands for bytes that a worker has not read.
 *
 * @returns `other`: one of them has another SHA-256 already.
 */
async function fixSha256s(
  table: Table,
  upload: ChunkedUpload,
  chunks: readonly { readonly chunk: number; readonly sha256: string }[],
): Promise<'fixed' | 'other'> {
  let outcome: 'fixed' | 'other' = 'fixed';
  await forEachLimited(chunks, writesAtOnce, async ({ chunk, sha256 }) => {
    const { ok } = await updateItem(table, {
      key: sha256Key(upload, chunk),
      change: [setting({ sha256, ...expiry(upload) })],
      condition: `${absent} OR #sha256 = :sha256`,
    });
    if (!ok) outcome = 'other';
  });
  return outcome;
}

/** Replaces the proof of the same chunk. */
async function putProof(table: Table, upload: ChunkedUpload, proof: Proof): Promise<void> {
  const { chunk } = proof;
  const item = { ...proofRecords.keyOf({ ...upload, chunk }), ...proof, ...expiry(upload) };
  await putItem(table, { item, condition: `${absent} OR ${exists}` });
}

/** Strongly consistent. */
const readProof = (table: Table, path: UploadPath, chunk: number) =>
  proofRecords.read(table, { ...path, chunk });

/** All of an upload, in the order of its chunks. Strongly consistent. */
const proofs = (table: Table, path: UploadPath): Promise<readonly Proof[]> =>
  proofRecords.list(table, inPartition(chunkPartition(path), allProofs));

/** Deletes the proof of a chunk, if it's still this one. */
async function deleteProof(
  table: Table,
  path: UploadPath,
  { chunk, etag }: Pick<Proof, 'chunk' | 'etag'>,
): Promise<void> {
  const ofVersion = { condition: '#etag = :etag', values: { ':etag': etag } };
  await proofRecords.remove(table, { ...path, chunk }, ofVersion);
}
