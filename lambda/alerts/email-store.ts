import * as z from 'zod';
import {
  changeItem,
  deleteItem,
  firstItems,
  getItem,
  methodsOn,
  ofKind,
  type Table,
} from '../table/requests.ts';
import { byKindIndex, kindKey, noKind } from '../table/table.ts';
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
  const item = await getItem(table, emailsKey(tenant));
  return item ? emailsItem.parse(item) : nobody;
}

/**
 * Changes a tenant's addresses.
 *
 * @param input.change gets them as they are. undefined: nothing is to be changed.
 * @param input.nextDay when the schedule looks at the tenant next. Default: as it was; of a new one, at once.
 * @returns them as they became. undefined: nothing was changed.
 * @throws {LedgerUnavailableError}
 */
async function change(
  table: Table,
  input: {
    tenant: string;
    nextDay?: string;
    change: (emails: Emails) => Emails | undefined;
  },
): Promise<Emails | undefined> {
  const { tenant } = input;
  const { item, isChanged } = await changeItem(table, emailsKey(tenant), (found) => {
    const before = found && emailsItem.parse(found);
    const changed = input.change(before ?? nobody);
    if (!changed) return undefined;
    const { addresses, asked, lookedAtMs } = changed;
    const nextDay = input.nextDay ?? before?.nextDay ?? '';
    const isDue = addresses.some(isSubscribed);
    const index = isDue ? kindKey(dueKind, `${nextDay}#${tenant}`) : noKind;
    return { addresses, asked, lookedAtMs, nextDay, ...index };
  });
  return isChanged ? emailsItem.parse(item) : undefined;
}

/** Some tenants at which the schedule has not looked on this day. Eventually consistent. @throws {LedgerUnavailableError} */
async function listDue(
  table: Table,
  { day, tenantsMax }: { day: string; tenantsMax: number },
): Promise<readonly string[]> {
  const items = await firstItems(table, {
    // `$` is the character after `#`.
    ...ofKind(dueKind, { before: `${day}$` }),
    Limit: tenantsMax,
  });
  return items.map((item) => String(item[byKindIndex.sk]).replace(/^[^#]*#/, ''));
}

/** Forgets the tenant. @throws {LedgerUnavailableError} */
async function forget(table: Table, tenant: string): Promise<void> {
  await deleteItem(table, { key: emailsKey(tenant) });
}
