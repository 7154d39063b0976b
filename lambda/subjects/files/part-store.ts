import { sha256Hex } from '../../core/rules/hash.ts';
import { recordsOf } from '../../core/table/records.ts';
import { inPartition, methodsOn, ofKind, pagesOf, type Table } from '../../core/table/requests.ts';
import { kindKey, timeText } from '../../core/table/table.ts';
import { type PartUpload, type PartUploadPath, partUploadSchema } from './rules/part-upload.ts';

/** All of a tenant, by repo and name. A part of a key has no `#`. */
const partition = (tenant: string) => `PARTS#${tenant}`;
const nameKey = ({ repo, name }: { repo: string; name?: string | undefined }) =>
  name === undefined ? `${repo}#` : `${repo}#${sha256Hex(name)}#`;

/** The kind of those in the index of which something is due, in the order of the times when. */
const dueKind = 'PARTS';

const records = recordsOf<PartUploadPath, PartUpload>({
  keyOf: (path) => ({ pk: partition(path.tenant), sk: nameKey(path) + path.upload }),
  schema: partUploadSchema,
  fields: (upload) => ({ ...kindKey(dueKind, `${timeText(upload.dueAtMs)}#${upload.upload}`), ...upload }),
});

/** Uploads of files in parts. All throw {@link LedgerUnavailableError}. */
export function createDynamoDbPartUploads(table: Table) {
  return methodsOn(table, {
    put: records.create,
    read: records.read,
    change,
    remove: records.remove,
    of,
    dueTenants,
  });
}

export type PartUploads = ReturnType<typeof createDynamoDbPartUploads>;

/** Changes one by a function of it. It answers undefined to leave it. @returns it as it is now. undefined: there's none. */
async function change(
  table: Table,
  path: PartUploadPath,
  changeOf: (upload: PartUpload) => PartUpload | undefined,
): Promise<PartUpload | undefined> {
  return (await records.change(table, path, (found) => found && changeOf(found))).record;
}

/** Those of a tenant, a repo or a name, in any state. */
const of = (table: Table, { tenant, ...place }: { tenant: string; repo?: string; name?: string }) =>
  records.list(
    table,
    inPartition(
      partition(tenant),
      place.repo === undefined ? {} : { prefix: nameKey({ ...place, repo: place.repo }) },
    ),
  );

/** Tenants with some that are due, at most so many. Eventually consistent. */
async function dueTenants(
  table: Table,
  { nowMs, max }: { nowMs: number; max: number },
): Promise<readonly string[]> {
  const tenants = new Set<string>();
  for await (const keys of pagesOf(table, ofKind(dueKind, { before: timeText(nowMs + 1) }))) {
    for (const { pk } of keys) if (tenants.size < max) tenants.add(String(pk).slice(partition('').length));
    if (tenants.size >= max) break;
  }
  return [...tenants];
}
