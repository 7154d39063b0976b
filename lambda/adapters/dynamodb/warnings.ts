import * as z from 'zod';
import { type NumberedWarning, type Warning, warningLevels } from '../../domain/warning.ts';
import { pendingWarningsMax, type WarningState, type Warnings } from '../../ports/warnings.ts';
import { adding, all, removing, setting } from './expressions.ts';
import { firstItems } from './pages.ts';
import { deleteItem, getItem, type Table, updateItem } from './requests.ts';
import { byKindIndex } from './table.ts';
import { untilWritten } from './until-written.ts';

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

/**
 * Warnings on the ledger's table, an item for each tenant. The number of a pending warning is not stored: they are a list,
 * and each one that is raised counts one further.
 */
export function createDynamoDbWarnings(table: Table): Warnings {
  return {
    read: async (tenant) => stateOf(await read(table, tenant)),
    raiseLevel: async ({ tenant, epoch, warning }) => {
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
    },
    raiseFull: async ({ tenant, day, warning }) =>
      raise(table, {
        tenant,
        warning,
        changes: { fullDay: day },
        condition: '(attribute_not_exists(#fullDay) OR #fullDay < :fullDay)',
        values: {},
      }),
    ignoreBefore: async ({ tenant, epoch }) => {
      await updateItem(table, {
        key: alertKey(tenant),
        change: [setting({ epoch })],
        condition: 'attribute_not_exists(#epoch) OR #epoch < :epoch',
      });
    },
    settle: (input) => settle(table, input),
    listPending: (input) => listPending(table, input),
    forget: async (tenant) => {
      await deleteItem(table, { key: alertKey(tenant) });
    },
  };
}

async function read(table: Table, tenant: string): Promise<AlertItem> {
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

function settle(table: Table, { tenant, seq }: { tenant: string; seq: number }): Promise<void> {
  return untilWritten(table, async () => {
    const item = await read(table, tenant);
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
