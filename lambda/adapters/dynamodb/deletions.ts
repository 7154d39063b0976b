import { type Deletion, oidsOf, singleDeletionId, singleIdStart } from '../../domain/deletion.ts';
import type { DeletionLedger, Input, Output } from '../../ports/ledger.ts';
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
} from './expressions.ts';
import { deletionKey, dueKey, ofRepo, parseDeletion, parseTenant, removalField, tenantKey } from './items.ts';
import { itemsBelow, keysAfter, onePage } from './pages.ts';
import {
  batchGet,
  deleteItem,
  getItem,
  keysPerBatchMax,
  moveToKey,
  putItem,
  type Table,
  updateItem,
} from './requests.ts';
import { byDueIndex } from './table.ts';

/** Deletion items, and the notes on the tenant item that take their bytes off the floor. */
export function deletionMethods(table: Table): DeletionLedger {
  return {
    putDeletion: (input) => putDeletion(table, input),
    remark: (input) => remark(table, input),
    deletions: (tenant) => deletions(table, tenant),
    deletionsOf: (path) => deletionsOf(table, path),
    deletionsNaming: (input) => deletionsNaming(table, input),
    listDeletions: (input) => listDeletions(table, input),
    unmark: (input) => unmark(table, input),
    claimDeletion: (input) => claimDeletion(table, input),
    endDeletion: (input) => endDeletion(table, input),
    dropRemoval: (input) => dropRemoval(table, input),
    removeDeletion: (input) => removeDeletion(table, input),
    countDeletions: (input) => countDeletions(table, input),
    announceDelete: (input) => announceDelete(table, input),
    removeNote: (input) => removeNote(table, input),
  };
}

async function putDeletion(table: Table, { tenant, deletion }: Input<'putDeletion'>): Output<'putDeletion'> {
  const { id, objects, ...rest } = deletion;
  await putItem(table, {
    item: {
      ...deletionKey({ tenant, repo: rest.repo, deletionId: id }),
      ...dueKey({ kind: 'DELETION', tenant, dueAtMs: rest.dueAtMs }),
      deletionId: id,
      objects: Object.fromEntries(objects),
      ...rest,
    },
    condition: absent,
  });
}

/** That a deletion is as it was read: no run has begun or ended since, and nobody has marked it again. */
const asRead = all(exists, '#state = :stateBefore', '#deadlineMs = :deadlineBefore', '#dueAtMs = :dueBefore');
const valuesAsRead = ({ state, deadlineMs, dueAtMs }: Deletion) => ({
  ':stateBefore': state,
  ':deadlineBefore': deadlineMs,
  ':dueBefore': dueAtMs,
});

async function remark(table: Table, { tenant, before, deletion }: Input<'remark'>): Output<'remark'> {
  const key = deletionKey({ tenant, repo: before.repo, deletionId: before.id });
  const { state, objects, dueAtMs, afterClosingMs } = deletion;
  const result = await updateItem(table, {
    key,
    change: [
      setting({
        state,
        objects: Object.fromEntries(objects),
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

async function* deletions(table: Table, tenant: Input<'deletions'>): Output<'deletions'> {
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

async function* deletionsOf(table: Table, path: Input<'deletionsOf'>): Output<'deletionsOf'> {
  const { tenant, repo } = path;
  for await (const items of itemsBelow(table, { tenant, prefix: ofRepo('DELETION', repo) }))
    yield items.map(parseDeletion).filter((deletion) => deletion.repo === repo);
}

async function deletionsNaming(
  table: Table,
  { tenant, repo, oids }: Input<'deletionsNaming'>,
): Output<'deletionsNaming'> {
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

async function listDeletions(table: Table, input: Input<'listDeletions'>): Output<'listDeletions'> {
  const { tenant, repo, after, pageSize } = input;
  const { items, hasMore } = await onePage(table, {
    ...keysAfter({
      tenant,
      prefix: repo === undefined ? 'DELETION#' : ofRepo('DELETION', repo),
      after: after && deletionKey({ tenant, ...after }).sk,
    }),
    Limit: pageSize,
  });
  const read = items.map(parseDeletion);
  const last = hasMore ? read.at(-1) : undefined;
  return {
    deletions: read.filter((deletion) => repo === undefined || deletion.repo === repo),
    next: last ? { repo: last.repo, deletionId: last.id } : null,
  };
}

/** What taking these objects out of a deletion changes in its item. */
export function unmarkChange(names: readonly string[]): Clause[] {
  return [removingKeys('objects', names)];
}

async function unmark(table: Table, input: Input<'unmark'>): Output<'unmark'> {
  if (input.names.length === 0) return 'unmarked';
  const result = await updateItem(table, {
    key: deletionKey(input),
    change: unmarkChange(input.names),
    condition: all(exists, '#state = :marked', '#dueAtMs = :dueAtMs'),
    values: { ':marked': 'marked', ':dueAtMs': input.dueAtMs },
  });
  return result.ok ? 'unmarked' : 'refused';
}

async function claimDeletion(table: Table, input: Input<'claimDeletion'>): Output<'claimDeletion'> {
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

async function endDeletion(table: Table, input: Input<'endDeletion'>): Output<'endDeletion'> {
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
    const objects = Object.fromEntries(left);
    const marked = { state: 'marked', dueAtMs, [byDueIndex.sk]: dueAtMs, objects, ...removed };
    await updateItem(table, { ...own, change: [setting(marked)] });
  } else if (keptUntilMs === null) {
    await deleteItem(table, own);
  } else {
    const times = { deadlineMs: keptUntilMs, dueAtMs: keptUntilMs, [byDueIndex.sk]: keptUntilMs };
    const named =
      prefixes === undefined
        ? removal && { objects: Object.fromEntries(oidsOf(removal)) }
        : { objects: {}, prefixes };
    await updateItem(table, { ...own, change: [setting({ state: 'gone', ...times, ...removed, ...named })] });
  }
}

async function dropRemoval(table: Table, input: Input<'dropRemoval'>): Output<'dropRemoval'> {
  await updateItem(table, {
    key: deletionKey(input),
    change: [removing('removal')],
    condition: all(exists, '#removal.#runMs = :run'),
    values: { ':run': input.runMs },
  });
}

async function removeDeletion(table: Table, input: Input<'removeDeletion'>): Output<'removeDeletion'> {
  await deleteItem(table, {
    key: deletionKey(input),
    condition: all('#state = :gone', '#deadlineMs = :deadline', 'attribute_not_exists(#removal)'),
    values: { ':gone': 'gone', ':deadline': input.deadlineMs },
  });
}

async function countDeletions(table: Table, input: Input<'countDeletions'>): Output<'countDeletions'> {
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

async function announceDelete(table: Table, input: Input<'announceDelete'>): Output<'announceDelete'> {
  await updateItem(table, {
    key: tenantKey(input.tenant),
    change: [
      adding({ deletedBytes: input.note.bytes, claimCount: input.claimCount ?? 0 }),
      {
        text: 'SET #notes.#note = :note',
        values: { ':note': input.note },
        keys: { '#note': input.noteId },
      },
    ],
    condition: all(exists, 'attribute_not_exists(#notes.#note)'),
  });
}

async function removeNote(table: Table, input: Input<'removeNote'>): Output<'removeNote'> {
  await updateItem(table, {
    key: tenantKey(input.tenant),
    change: [removingKeys('notes', [input.noteId])],
    condition: exists,
  });
}
