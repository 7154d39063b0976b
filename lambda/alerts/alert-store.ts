import * as z from 'zod';
import { adding, all, removing, setting } from '../table/expressions.ts';
import {
  deleteItem,
  firstItems,
  getItem,
  methodsOn,
  ofKind,
  type Table,
  untilWritten,
  updateItem,
} from '../table/requests.ts';
import { byKindIndex, kindKey } from '../table/table.ts';
import { type Alert, type NumberedAlert, type Threshold, thresholds } from './rules/alerts.ts';

const thresholdSchema = z.union([z.literal(0), ...thresholds.map((threshold) => z.literal(threshold))]);

const figures = { atMs: z.number(), storedBytes: z.number(), limitBytes: z.number().nullable() };

const alertSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('threshold'),
    ...figures,
    threshold: thresholdSchema,
    previousThreshold: thresholdSchema,
  }),
  z.object({ kind: z.literal('limit_reached'), ...figures }),
]);

const alertItem = z.object({
  threshold: thresholdSchema.default(0),
  /** Number of the last alert that was raised, and of the last that was handed over. */
  seq: z.number().default(0),
  deliveredSeq: z.number().default(0),
  /** Those between the two. */
  pending: z.array(alertSchema).default([]),
});

type AlertItem = z.output<typeof alertItem>;

const alertKey = (tenant: string) => ({ pk: `ALERT#${tenant}`, sk: 'ALERT' });

/** In the index as long as something is pending. */
const pendingKind = 'ALERTS';

/** Of a tenant, alerts that nobody has handed over yet: with more, no other is raised until they are. */
export const pendingAlertsMax = 20;

/** What is known of a tenant's alerts. */
interface AlertState {
  readonly threshold: Threshold;
  /** Those that are to be handed over, the oldest first. */
  readonly pending: readonly NumberedAlert[];
}

/**
 * Which threshold each tenant has reached, and the alerts that are to be handed over. One conditional write decides that an alert
 * is raised and keeps it: whoever loses the race raises nothing, and nothing that is raised is lost. On the ledger's table,
 * an item for each tenant. The number of a pending alert is not stored: they are a list, and each one that is raised
 * counts one further.
 */
export function createDynamoDbAlerts(table: Table) {
  return methodsOn(table, { read, crossThreshold, raiseFull, ignoreBefore, settle, listPending, forget });
}

export type Alerts = ReturnType<typeof createDynamoDbAlerts>;

/** Strongly consistent. @throws {LedgerUnavailableError} */
async function read(table: Table, tenant: string): Promise<AlertState> {
  return stateOf(await readItem(table, tenant));
}

/**
 * Changes the threshold and raises the alert, if it's still at the alert's previous one, no newer epoch has changed
 * or settled it, and fewer than {@link pendingAlertsMax} are pending.
 *
 * @throws {LedgerUnavailableError} It may have been raised.
 */
async function crossThreshold(
  table: Table,
  input: { tenant: string; epoch: number; alert: Extract<Alert, { kind: 'threshold' }> },
): Promise<'raised' | 'not-raised'> {
  const { tenant, epoch, alert } = input;
  const { threshold, previousThreshold } = alert;
  const isOn = '#level = :previousLevel';
  return raise(table, {
    tenant,
    alert,
    changes: { threshold, epoch },
    condition: all(
      previousThreshold === 0 ? `(attribute_not_exists(#level) OR ${isOn})` : isOn,
      '(attribute_not_exists(#epoch) OR #epoch <= :epoch)',
    ),
    values: { ':previousLevel': previousThreshold },
  });
}

/**
 * Raises the alert, if none was on this day or a later one.
 *
 * @throws {LedgerUnavailableError} It may have been raised.
 */
async function raiseFull(
  table: Table,
  input: { tenant: string; day: string; alert: Extract<Alert, { kind: 'limit_reached' }> },
): Promise<'raised' | 'not-raised'> {
  const { tenant, day, alert } = input;
  return raise(table, {
    tenant,
    alert,
    changes: { fullDay: day },
    condition: '(attribute_not_exists(#fullDay) OR #fullDay < :fullDay)',
    values: {},
  });
}

/** From now on no epoch before this changes the threshold: its limit is no more. @throws {LedgerUnavailableError} */
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

function stateOf({ threshold, deliveredSeq, pending }: AlertItem): AlertState {
  const numbered = pending.map((alert, index): NumberedAlert => ({ seq: deliveredSeq + 1 + index, alert }));
  return { threshold, pending: numbered };
}

async function raise(
  table: Table,
  input: {
    tenant: string;
    alert: Alert;
    changes: Readonly<Record<string, unknown>>;
    condition: string;
    values: Readonly<Record<string, unknown>>;
  },
): Promise<'raised' | 'not-raised'> {
  const { tenant, alert, changes, condition, values } = input;
  const { ok } = await updateItem(table, {
    key: alertKey(tenant),
    change: [
      setting({ ...changes, ...kindKey(pendingKind, tenant) }, { appends: { pending: [{ ...alert }] } }),
      adding({ seq: 1 }),
    ],
    condition: all(condition, '(attribute_not_exists(#pending) OR size(#pending) < :pendingMax)'),
    values: { ...values, ':pendingMax': pendingAlertsMax },
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
    const handed = { deliveredSeq: item.deliveredSeq + done };
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

/** Some tenants with pending alerts. Eventually consistent. @throws {LedgerUnavailableError} */
async function listPending(table: Table, { tenantsMax }: { tenantsMax: number }): Promise<readonly string[]> {
  const items = await firstItems(table, { ...ofKind(pendingKind), Limit: tenantsMax });
  return items.map((item) => String(item[byKindIndex.sk]));
}
