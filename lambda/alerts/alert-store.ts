import * as z from 'zod';
import { adding, all, removing, setting } from '../table/expressions.ts';
import {
  deleteItem,
  firstItems,
  getItem,
  methodsOn,
  type Table,
  untilWritten,
  updateItem,
} from '../table/requests.ts';
import { byKindIndex } from '../table/table.ts';
import { type NumberedWarning, type Warning, type WarningLevel, warningLevels } from './rules/alerts.ts';

const levelSchema = z.union([z.literal(0), ...warningLevels.map((level) => z.literal(level))]);

const figures = { atMs: z.number(), storedBytes: z.number(), limitBytes: z.number().nullable() };

const warningSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('level'), ...figures, level: levelSchema, previousLevel: levelSchema }),
  z.object({ kind: z.literal('full'), ...figures }),
]);

const alertItem = z.object({
  level: levelSchema.default(0),
  /** Number of the last warning that was raised, and of the last that was handed over. */
  seq: z.number().default(0),
  handedSeq: z.number().default(0),
  /** Those between the two. */
  pending: z.array(warningSchema).default([]),
});

type AlertItem = z.output<typeof alertItem>;

const alertKey = (tenant: string) => ({ pk: `ALERT#${tenant}`, sk: 'ALERT' });

/** In the index as long as something is pending. */
const pendingKind = 'ALERTS';
const pendingKeys = (tenant: string) => ({ [byKindIndex.pk]: pendingKind, [byKindIndex.sk]: tenant });

/** Of a tenant, warnings that nobody has handed over yet: with more, no other is raised until they are. */
export const pendingWarningsMax = 20;

/** What is known of a tenant's warnings. */
interface WarningState {
  readonly level: WarningLevel;
  /** Those that are to be handed over, the oldest first. */
  readonly pending: readonly NumberedWarning[];
}

/**
 * Which level each tenant is on, and the warnings that are to be handed over. One conditional write decides that a warning
 * is raised and keeps it: whoever loses the race raises nothing, and nothing that is raised is lost. On the ledger's table,
 * an item for each tenant. The number of a pending warning is not stored: they are a list, and each one that is raised
 * counts one further.
 */
export function createDynamoDbWarnings(table: Table) {
  return methodsOn(table, { read, raiseLevel, raiseFull, ignoreBefore, settle, listPending, forget });
}

export type Warnings = ReturnType<typeof createDynamoDbWarnings>;

/** Strongly consistent. @throws {LedgerUnavailableError} */
async function read(table: Table, tenant: string): Promise<WarningState> {
  return stateOf(await readItem(table, tenant));
}

/**
 * Changes the level and raises the warning, if the level is still the warning's previous one, no newer epoch has changed
 * or settled it, and fewer than {@link pendingWarningsMax} are pending.
 *
 * @throws {LedgerUnavailableError} It may have been raised.
 */
async function raiseLevel(
  table: Table,
  input: { tenant: string; epoch: number; warning: Extract<Warning, { kind: 'level' }> },
): Promise<'raised' | 'not-raised'> {
  const { tenant, epoch, warning } = input;
  const { level, previousLevel } = warning;
  const isOn = '#level = :previousLevel';
  return raise(table, {
    tenant,
    warning,
    changes: { level, epoch },
    condition: all(
      previousLevel === 0 ? `(attribute_not_exists(#level) OR ${isOn})` : isOn,
      '(attribute_not_exists(#epoch) OR #epoch <= :epoch)',
    ),
    values: { ':previousLevel': previousLevel },
  });
}

/**
 * Raises the warning, if none was on this day or a later one.
 *
 * @throws {LedgerUnavailableError} It may have been raised.
 */
async function raiseFull(
  table: Table,
  input: { tenant: string; day: string; warning: Extract<Warning, { kind: 'full' }> },
): Promise<'raised' | 'not-raised'> {
  const { tenant, day, warning } = input;
  return raise(table, {
    tenant,
    warning,
    changes: { fullDay: day },
    condition: '(attribute_not_exists(#fullDay) OR #fullDay < :fullDay)',
    values: {},
  });
}

/** From now on no epoch before this changes the level: its limit is no more. @throws {LedgerUnavailableError} */
async function ignoreBefore(
  table: Table,
  { tenant, epoch }: { tenant: string; epoch: number },
): Promise<void> {
  await updateItem(table, {
    key: alertKey(tenant),
    change: [setting({ epoch })],
    condition: 'attribute_not_exists(#epoch) OR #epoch < :epoch',
  });
}

/** Forgets the tenant. @throws {LedgerUnavailableError} */
async function forget(table: Table, tenant: string): Promise<void> {
  await deleteItem(table, { key: alertKey(tenant) });
}

async function readItem(table: Table, tenant: string): Promise<AlertItem> {
  return alertItem.parse((await getItem(table, alertKey(tenant))) ?? {});
}

function stateOf({ level, handedSeq, pending }: AlertItem): WarningState {
  const numbered = pending.map(
    (warning, index): NumberedWarning => ({ seq: handedSeq + 1 + index, warning }),
  );
  return { level, pending: numbered };
}

async function raise(
  table: Table,
  input: {
    tenant: string;
    warning: Warning;
    changes: Readonly<Record<string, unknown>>;
    condition: string;
    values: Readonly<Record<string, unknown>>;
  },
): Promise<'raised' | 'not-raised'> {
  const { tenant, warning, changes, condition, values } = input;
  const { ok } = await updateItem(table, {
    key: alertKey(tenant),
    change: [
      setting({ ...changes, ...pendingKeys(tenant) }, { appends: { pending: [{ ...warning }] } }),
      adding({ seq: 1 }),
    ],
    condition: all(condition, '(attribute_not_exists(#pending) OR size(#pending) < :pendingMax)'),
    values: { ...values, ':pendingMax': pendingWarningsMax },
  });
  return ok ? 'raised' : 'not-raised';
}

/** Those up to this number are handed over. @throws {LedgerUnavailableError} They stay pending, or not. */
function settle(table: Table, { tenant, seq }: { tenant: string; seq: number }): Promise<void> {
  return untilWritten(table, async () => {
    const item = await readItem(table, tenant);
    const done = stateOf(item).pending.filter((each) => each.seq <= seq).length;
    if (done === 0) return { result: undefined };
    const rest = item.pending.slice(done);
    const handed = { handedSeq: item.handedSeq + done };
    const { ok } = await updateItem(table, {
      key: alertKey(tenant),
      change:
        rest.length > 0
          ? [setting({ ...handed, pending: rest })]
          : [setting(handed), removing('pending', byKindIndex.pk, byKindIndex.sk)],
      // Nothing was raised or settled meanwhile.
      condition: all('#seq = :seq', 'size(#pending) = :pendingCount'),
      values: { ':seq': item.seq, ':pendingCount': item.pending.length },
    });
    return ok ? { result: undefined } : undefined;
  });
}

/** Some tenants with pending warnings. Eventually consistent. @throws {LedgerUnavailableError} */
async function listPending(table: Table, { tenantsMax }: { tenantsMax: number }): Promise<readonly string[]> {
  const items = await firstItems(table, {
    IndexName: byKindIndex.name,
    KeyConditionExpression: '#kind = :kind',
    ExpressionAttributeNames: { '#kind': byKindIndex.pk },
    ExpressionAttributeValues: { ':kind': pendingKind },
    Limit: tenantsMax,
  });
  return items.map((item) => String(item[byKindIndex.sk]));
}
