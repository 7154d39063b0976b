import {
  absent,
  adding,
  all,
  type Clause,
  exists,
  type Fields,
  removing,
  removingKeys,
  setting,
} from '../table/expressions.ts';
import {
  batchGet,
  deleteItem,
  getItem,
  itemsBelow,
  keysPerBatchMax,
  methodsOn,
  moveToKey,
  putItem,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { stored } from '../table/stored-names.ts';
import { byDueIndex, tenantKey } from '../table/table.ts';
import {
  deletionKey,
  dueKey,
  namedFields,
  ofRepo,
  parseDeletion,
  parseTenant,
  removalField,
} from './items.ts';
import { pageOfRepos } from './reservation-store.ts';
import {
  type Deletion,
  type DeletionKey,
  oidsOf,
  type Removal,
  singleDeletionId,
  singleIdStart,
} from './rules/deletion.ts';
import type { DeleteIntent, RepoPath } from './rules/tenant.ts';

export interface DeletionPage {
  readonly deletions: readonly Deletion[];
  /** null: this is the last page. */
  readonly next: Omit<DeletionKey, 'tenant'> | null;
}

/** Deletion items, and the notes on the tenant item that take their bytes off the confirmed usage. */
export function deletionMethods(table: Table) {
  return methodsOn(table, {
    putDeletion,
    remark,
    deletions,
    deletionsOf,
    deletionsNaming,
    listDeletions,
    unmark,
    claimDeletion,
    endDeletion,
    dropRemoval,
    removeDeletion,
    countDeletions,
    announceDelete,
    removeIntent,
  });
}

/** Writes a new deletion. @returns false if there is one of this id: a retry of our own, or one before it. Nothing happens then. */
async function putDeletion(
  table: Table,
  { tenant, deletion }: { tenant: string; deletion: Deletion },
): Promise<boolean> {
  const { id, objects, ...rest } = deletion;
  const { ok } = await putItem(table, {
    item: {
      ...deletionKey({ tenant, repo: rest.repo, deletionId: id }),
      ...dueKey({ kind: 'DELETION', tenant, dueAtMs: rest.dueAtMs }),
      deletionId: id,
      ...namedFields(objects),
      ...rest,
    },
    condition: absent,
  });
  return ok;
}

/** That a deletion is as it was read: no run has begun or ended since, and nobody has marked it again. */
const asRead = all(exists, '#state = :stateBefore', '#deadlineMs = :deadlineBefore', '#dueAtMs = :dueBefore');
const valuesAsRead = ({ state, deadlineMs, dueAtMs }: Deletion) => ({
  ':stateBefore': stored({ state })['state'],
  ':deadlineBefore': deadlineMs,
  ':dueBefore': dueAtMs,
});

/**
 * Marks again what is not to be deleted any more, or is gone: the item of `before` becomes `deletion`, of the same id.
 * It keeps what its last run removed. `superseded`: it has changed since it was read.
 */
async function remark(
  table: Table,
  { tenant, before, deletion }: { tenant: string; before: Deletion; deletion: Deletion },
): Promise<'marked' | 'superseded'> {
  const key = deletionKey({ tenant, repo: before.repo, deletionId: before.id });
  const { state, objects, dueAtMs, afterClosingMs } = deletion;
  const result = await updateItem(table, {
    key,
    change: [
      setting({
        state,
        ...namedFields(objects),
        dueAtMs,
        [byDueIndex.sk]: dueAtMs,
        afterClosingMs,
      }),
      removing('prefixes'),
    ],
    condition: asRead,
    values: valuesAsRead(before),
  });
  if (result.ok) return 'marked';
  const now = await getItem(table, key);
  // Refused, yet due as we set it: this was our own retry after a lost answer.
  return now?.['dueAtMs'] === dueAtMs ? 'marked' : 'superseded';
}

/** All of a tenant's, repo by repo. */
async function* deletions(table: Table, tenant: string): AsyncIterable<readonly Deletion[]> {
  for await (const items of itemsBelow(table, { tenant, prefix: 'DELETION#' })) {
    const read: Deletion[] = [];
    for (const item of items) {
      const deletion = parseDeletion(item);
      const key = deletionKey({ tenant, repo: deletion.repo, deletionId: deletion.id });
      if (item['sk'] === key.sk) read.push(deletion);
      else await moveOrDrop(table, { tenant, item, key });
    }
    yield read;
  }
}

/**
 * Older versions wrote keys without a repo. What moves waits for the next read: a batch under way missed it. If the tenant
 * was counted since without a move, no batch found it meanwhile, and some may rely on the objects: then they stay.
 */
async function moveOrDrop(
  table: Table,
  { tenant, item, key }: { tenant: string; item: Fields; key: { pk: string; sk: string } },
): Promise<void> {
  const record = await getItem(table, tenantKey(tenant));
  if (record && parseTenant(record).mayHaveOlderKeys) await moveToKey(table, item, key);
  else await deleteItem(table, { key: { pk: key.pk, sk: String(item['sk']) } });
}

/** Those of one repo. Its cost does not depend on other repos. */
async function* deletionsOf(table: Table, path: RepoPath): AsyncIterable<readonly Deletion[]> {
  const { tenant, repo } = path;
  for await (const items of itemsBelow(table, { tenant, prefix: ofRepo('DELETION', repo) }))
    yield items.map(parseDeletion).filter((deletion) => deletion.repo === repo);
}

/**
 * Those of one repo, in any order, without the ones of other single objects than these (`singleDeletionId`). So its
 * cost does not depend on how many objects are marked.
 */
async function deletionsNaming(
  table: Table,
  { tenant, repo, oids }: RepoPath & { oids: Iterable<string> },
): Promise<readonly Deletion[]> {
  const prefix = ofRepo('DELETION', repo);
  const keys = Array.from(oids, (oid) => deletionKey({ tenant, repo, deletionId: singleDeletionId(oid) }));
  const pages = Array.from({ length: Math.ceil(keys.length / keysPerBatchMax) }, (_, page) =>
    batchGet(table, keys.slice(page * keysPerBatchMax, (page + 1) * keysPerBatchMax)),
  );
  const others = async () => {
    const found: unknown[] = [];
    for await (const items of itemsBelow(table, { tenant, prefix, until: `${prefix}${singleIdStart}` }))
      found.push(...items);
    return found;
  };
  const found = await Promise.all([others(), ...pages]);
  return found
    .flat()
    .map(parseDeletion)
    .filter((deletion) => deletion.repo === repo);
}

/**
 * One page of a tenant's, or of those of one repo, in the order of {@link deletions}, in any state: at most `pageSize`,
 * and no more than one answer of the table, so a page can be shorter, or empty, without being the last.
 *
 * @param input.after key of a deletion that may be gone by now: `next` of the page before. With `repo` one of that repo.
 */
async function listDeletions(
  table: Table,
  input: {
    tenant: string;
    repo?: string;
    after?: Omit<DeletionKey, 'tenant'>;
    pageSize: number;
  },
): Promise<DeletionPage> {
  const { tenant, after } = input;
  const start = after && deletionKey({ tenant, ...after }).sk;
  const { found, last } = await pageOfRepos(table, {
    ...input,
    kind: 'DELETION',
    start,
    parse: parseDeletion,
  });
  return { deletions: found, next: last ? { repo: last.repo, deletionId: last.id } : null };
}

/** What taking these objects out of a deletion changes in its item. */
export function unmarkChange(names: readonly string[]): Clause[] {
  return [removingKeys('objects', names)];
}

/**
 * Takes at most `unmarkedObjectsMax` objects out of a deletion while it is only marked, and due as it was read.
 * `refused`: it is deleting, or gone, or was marked again.
 */
async function unmark(
  table: Table,
  input: DeletionKey & { dueAtMs: number; names: readonly string[] },
): Promise<'unmarked' | 'refused'> {
  if (input.names.length === 0) return 'unmarked';
  const result = await updateItem(table, {
    key: deletionKey(input),
    change: unmarkChange(input.names),
    condition: all(exists, '#state = :marked', '#dueAtMs = :dueAtMs'),
    values: { ':marked': 'marked', ':dueAtMs': input.dueAtMs },
  });
  return result.ok ? 'unmarked' : 'refused';
}

/**
 * marked → deleting, or takes it over from a deleter that died. The deadline identifies the deleter.
 * `before` is the deletion as the caller read it. `refused`: it has changed since.
 *
 * @param input.dueAtMs given if it is claimed before it is due: it is due since then.
 */
async function claimDeletion(
  table: Table,
  input: {
    tenant: string;
    before: Deletion;
    deadlineMs: number;
    dueAtMs?: number;
  },
): Promise<{ kind: 'claimed'; deletion: Deletion } | { kind: 'refused' }> {
  const { tenant, before, deadlineMs, dueAtMs } = input;
  const due = dueAtMs !== undefined && { dueAtMs, [byDueIndex.sk]: dueAtMs };
  const result = await updateItem(table, {
    key: deletionKey({ tenant, repo: before.repo, deletionId: before.id }),
    change: [setting({ state: 'deleting', deadlineMs, ...due })],
    condition: asRead,
    values: valuesAsRead(before),
    returns: 'ALL_NEW',
  });
  return result.ok ? { kind: 'claimed', deletion: parseDeletion(result.attributes) } : { kind: 'refused' };
}

/**
 * Ends a run, if the deletion still belongs to the deleter with this deadline. Objects that are `left` are
 * marked again, due at `dueAtMs`, with the deadline of this run: whoever read them before it cannot claim them. Nothing
 * tells then of what is gone beside them. If none is left, the deletion is gone: its record is kept until `keptUntilMs`,
 * or with null removed at once. With a `removal` it is kept in any case, and then names oids only. With `prefixes` it has
 * these instead of names.
 */
async function endDeletion(
  table: Table,
  input: DeletionKey & {
    deadlineMs: number;
    left: ReadonlyMap<string, number>;
    dueAtMs: number;
    keptUntilMs: number | null;
    removal?: Removal;
    prefixes?: string;
  },
): Promise<void> {
  const { left, dueAtMs, removal, prefixes } = input;
  const keptUntilMs = removal ? (input.keptUntilMs ?? 0) : input.keptUntilMs;
  const removed = removal && { removal: removalField(removal, { isPacked: prefixes !== undefined }) };
  // If the condition fails, another deleter took over, or this is our own retry.
  const own = {
    key: deletionKey(input),
    condition: all(exists, '#state = :deleting', '#deadlineMs = :deadline'),
    values: { ':deleting': 'deleting', ':deadline': input.deadlineMs },
  };
  if (left.size > 0) {
    const scheduled = {
      state: 'scheduled',
      dueAtMs,
      [byDueIndex.sk]: dueAtMs,
      ...namedFields(left),
      ...removed,
    };
    await updateItem(table, { ...own, change: [setting(scheduled)] });
  } else if (keptUntilMs === null) {
    await deleteItem(table, own);
  } else {
    const times = { deadlineMs: keptUntilMs, dueAtMs: keptUntilMs, [byDueIndex.sk]: keptUntilMs };
    const named =
      prefixes === undefined
        ? removal && namedFields(new Map(oidsOf(removal)))
        : { ...namedFields(new Map()), prefixes };
    await updateItem(table, {
      ...own,
      change: [setting({ state: 'deleted', ...times, ...removed, ...named })],
    });
  }
}

/** Drops the removal of this run: it is taken off the count. */
async function dropRemoval(table: Table, input: DeletionKey & { runMs: number }): Promise<void> {
  await updateItem(table, {
    key: deletionKey(input),
    change: [removing('removal')],
    condition: all(exists, '#removal.#runMs = :run'),
    values: { ':run': input.runMs },
  });
}

/** Removes the record of a deletion that is gone, kept until this deadline, and has no removal. Any other stays. */
async function removeDeletion(table: Table, input: DeletionKey & { deadlineMs: number }): Promise<void> {
  await deleteItem(table, {
    key: deletionKey(input),
    condition: all('#state = :gone', '#deadlineMs = :deadline', 'attribute_not_exists(#removal)'),
    values: { ':gone': 'gone', ':deadline': input.deadlineMs },
  });
}

/**
 * Adds to the tenant's `deletionCount`. `refused`: it would then be more than `atMost`.
 *
 * It may land twice: the count is right again after the next run.
 */
async function countDeletions(
  table: Table,
  input: {
    tenant: string;
    difference: number;
    /** Default: any. */
    atMost?: number;
  },
): Promise<'counted' | 'refused'> {
  const { tenant, difference, atMost } = input;
  const { ok } = await updateItem(table, {
    key: tenantKey(tenant),
    change: [adding({ deletionCount: difference })],
    condition:
      atMost === undefined
        ? exists
        : all(exists, '(attribute_not_exists(#deletionCount) OR #deletionCount <= :ceiling)'),
    ...(atMost !== undefined && { values: { ':ceiling': atMost - difference } }),
  });
  return ok ? 'counted' : 'refused';
}

/**
 * One write: takes the bytes off the confirmed usage, and notes that they are about to leave the bucket. It counts the late
 * reservation that is made of them, and its entries.
 */
async function announceDelete(
  table: Table,
  input: {
    tenant: string;
    intentId: string;
    note: DeleteIntent;
    /** Default: 0. */
    entryCount?: number;
  },
): Promise<void> {
  await updateItem(table, {
    key: tenantKey(input.tenant),
    change: [
      adding({ deletedBytes: input.note.bytes, entryCount: input.entryCount ?? 0 }),
      {
        text: 'SET #notes.#note = :note',
        values: { ':note': input.note },
        keys: { '#note': input.intentId },
      },
    ],
    condition: all(exists, 'attribute_not_exists(#notes.#note)'),
  });
}

async function removeIntent(table: Table, input: { tenant: string; intentId: string }): Promise<void> {
  await updateItem(table, {
    key: tenantKey(input.tenant),
    change: [removingKeys('notes', [input.intentId])],
    condition: exists,
  });
}
