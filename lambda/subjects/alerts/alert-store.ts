import type * as z from 'zod';
import { adding, all, type Fields, removing, setting } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import {
  firstItems,
  methodsOn,
  ofKind,
  type Table,
  untilWritten,
  updateItem,
} from '../../core/table/requests.ts';
import { byKindIndex, kindKey } from '../../core/table/table.ts';
import { type Alert, alertsSchema, type NumberedAlert, type Threshold } from './rules/alerts.ts';

const records = recordsOf({
  keyOf: (tenant: string) => ({ pk: `ALERT#${tenant}`, sk: 'ALERT' }),
  schema: alertsSchema,
});

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
  return methodsOn(table, {
    read,
    crossThreshold,
    raiseFull,
    ignoreBefore,
    settle,
    listPending,
    forget: records.remove,
  });
}

export type Alerts = ReturnType<typeof createDynamoDbAlerts>;

async function read(table: Table, tenant: string): Promise<AlertState> {
  return stateOf(await readItem(table, tenant));
}

/**
 * Changes the threshold and raises the alert, if it's still at the alert's previous one, no newer epoch has changed
 * or settled it, and fewer than {@link pendingAlertsMax} are pending.
 */
async function crossThreshold(
  table: Table,
  { tenant, epoch, alert }: { tenant: string; epoch: number; alert: Extract<Alert, { kind: 'threshold' }> },
): Promise<'raised' | 'not-raised'> {
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

/** Raises the alert, if none was on this day or a later one. */
function raiseFull(
  table: Table,
  { tenant, day, alert }: { tenant: string; day: string; alert: Extract<Alert, { kind: 'limit_reached' }> },
): Promise<'raised' | 'not-raised'> {
  const condition = '(attribute_not_exists(#fullDay) OR #fullDay < :fullDay)';
  return raise(table, { tenant, alert, changes: { fullDay: day }, condition });
}

/** From now on no epoch before this changes the threshold: its limit is no more. */
async function ignoreBefore(table: Table, { tenant, epoch }: { tenant: string; epoch: number }) {
  const condition = 'attribute_not_exists(#epoch) OR #epoch < :epoch';
  await records.set(table, tenant, { epoch }, { condition });
}

const readItem = async (table: Table, tenant: string) =>
  (await records.read(table, tenant)) ?? alertsSchema.parse({});

function stateOf({ threshold, deliveredSeq, pending }: z.output<typeof alertsSchema>): AlertState {
  const numbered = pending.map((alert, index): NumberedAlert => ({ seq: deliveredSeq + 1 + index, alert }));
  return { threshold, pending: numbered };
}

async function raise(
  table: Table,
  input: { tenant: string; alert: Alert; changes: Fields; condition: string; values?: Fields },
): Promise<'raised' | 'not-raised'> {
  const { tenant, alert, changes, condition, values } = input;
  const { ok } = await updateItem(table, {
    key: records.keyOf(tenant),
    change: [
      setting({ ...changes, ...kindKey(pendingKind, tenant) }, { appends: { pending: [{ ...alert }] } }),
      adding({ seq: 1 }),
    ],
    condition: all(condition, '(attribute_not_exists(#pending) OR size(#pending) < :pendingMax)'),
    values: { ...values, ':pendingMax': pendingAlertsMax },
  });
  return ok ? 'raised' : 'not-raised';
}

/** Those up to this number are handed over. If it throws, they stay pending, or not. */
function settle(table: Table, { tenant, seq }: { tenant: string; seq: number }): Promise<void> {
  return untilWritten(table, async () => {
    const item = await readItem(table, tenant);
    const done = stateOf(item).pending.filter((each) => each.seq <= seq).length;
    if (done === 0) return { result: undefined };
    const rest = item.pending.slice(done);
    const handed = { deliveredSeq: item.deliveredSeq + done };
    const { ok } = await updateItem(table, {
      key: records.keyOf(tenant),
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

/** Some tenants with pending alerts. Eventually consistent. */
async function listPending(table: Table, { tenantsMax }: { tenantsMax: number }): Promise<readonly string[]> {
  const items = await firstItems(table, { ...ofKind(pendingKind), Limit: tenantsMax });
  return items.map((item) => String(item[byKindIndex.sk]));
}
