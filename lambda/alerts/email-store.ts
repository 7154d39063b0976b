import * as z from 'zod';
import { absent, all, exists, removing, setting } from '../table/expressions.ts';
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
import { type Emails, emailEnds, isSubscribed } from './rules/email.ts';

const emailsItem = z.object({
  addresses: z.array(
    z.object({
      address: z.string(),
      key: z.string(),
      addedAtMs: z.number(),
      confirmedAtMs: z.number().nullable(),
      ended: z.enum(emailEnds).nullable(),
      sent: z.array(z.string()),
    }),
  ),
  asked: z.array(z.object({ atMs: z.number(), addressSha256: z.string() })),
  lookedAtMs: z.number(),
  /** The next day on which the schedule looks at the tenant. */
  nextDay: z.string(),
  version: z.number(),
});

const emailsKey = (tenant: string) => ({ pk: `EMAIL#${tenant}`, sk: 'EMAIL' });

/** In the index as long as an address gets e-mails: by the day on which the schedule looks next. */
const dueKind = 'EMAILS';

const nobody: Emails = { addresses: [], asked: [], lookedAtMs: 0 };

/**
 * Addresses that tenants' alerts are e-mailed to: one item for each tenant, in a partition of its own, as the sender
 * reaches nothing else. It has ten addresses at most, so each change replaces it, if nobody else has changed it.
 */
export function createDynamoDbEmails(table: Table) {
  return methodsOn(table, { read, change, listDue, forget });
}

export type EmailStore = ReturnType<typeof createDynamoDbEmails>;

/** Strongly consistent. @throws {LedgerUnavailableError} */
async function read(table: Table, tenant: string): Promise<Emails> {
  return (await readItem(table, tenant)) ?? nobody;
}

/**
 * Changes a tenant's addresses.
 *
 * @param input.change gets them as they are. undefined: nothing is to be changed.
 * @param input.nextDay when the schedule looks at the tenant next. Default: as it was; of a new one, at once.
 * @returns them as they became. undefined: nothing was changed.
 * @throws {LedgerUnavailableError}
 */
function change(
  table: Table,
  input: {
    tenant: string;
    nextDay?: string;
    change: (emails: Emails) => Emails | undefined;
  },
): Promise<Emails | undefined> {
  const { tenant } = input;
  return untilWritten(table, async () => {
    const item = await readItem(table, tenant);
    const changed = input.change(item ?? nobody);
    if (!changed) return { result: undefined };
    const { addresses, asked, lookedAtMs } = changed;
    const nextDay = input.nextDay ?? item?.nextDay ?? '';
    const fields = { addresses, asked, lookedAtMs, nextDay, version: (item?.version ?? 0) + 1 };
    const isDue = addresses.some(isSubscribed);
    const { ok } = await updateItem(table, {
      key: emailsKey(tenant),
      change: isDue
        ? [setting({ ...fields, [byKindIndex.pk]: dueKind, [byKindIndex.sk]: `${nextDay}#${tenant}` })]
        : [setting(fields), removing(byKindIndex.pk, byKindIndex.sk)],
      condition: item ? all(exists, '#version = :before') : absent,
      ...(item && { values: { ':before': item.version } }),
    });
    return ok ? { result: changed } : undefined;
  });
}

async function readItem(table: Table, tenant: string) {
  const item = await getItem(table, emailsKey(tenant));
  return item && emailsItem.parse(item);
}

/** Some tenants at which the schedule has not looked on this day. Eventually consistent. @throws {LedgerUnavailableError} */
async function listDue(
  table: Table,
  { day, tenantsMax }: { day: string; tenantsMax: number },
): Promise<readonly string[]> {
  const items = await firstItems(table, {
    IndexName: byKindIndex.name,
    KeyConditionExpression: '#kind = :kind AND #due < :until',
    ExpressionAttributeNames: { '#kind': byKindIndex.pk, '#due': byKindIndex.sk },
    // `$` is the character after `#`.
    ExpressionAttributeValues: { ':kind': dueKind, ':until': `${day}$` },
    Limit: tenantsMax,
  });
  return items.map((item) => String(item[byKindIndex.sk]).replace(/^[^#]*#/, ''));
}

/** Forgets the tenant. @throws {LedgerUnavailableError} */
async function forget(table: Table, tenant: string): Promise<void> {
  await deleteItem(table, { key: emailsKey(tenant) });
}
