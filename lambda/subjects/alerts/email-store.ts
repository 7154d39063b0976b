import { recordsOf } from '../../core/table/records.ts';
import { changeItem, firstItems, ofKind, type Table } from '../../core/table/requests.ts';
import { byKindIndex, kindKey, noKind } from '../../core/table/table.ts';
import { type Emails, emailsSchema, isSubscribed, type StoredEmails } from './rules/email.ts';

/** In the index as long as an address gets e-mails: by the day on which the schedule looks next. */
const dueKind = 'EMAILS';

const records = recordsOf<string, StoredEmails>({
  keyOf: (tenant) => ({ pk: `EMAIL#${tenant}`, sk: 'EMAIL' }),
  schema: emailsSchema,
});

const nobody: StoredEmails = { addresses: [], asked: [], lookedAtMs: 0, nextDay: '' };

/**
 * Addresses that tenants' alerts are e-mailed to: one item for each tenant, in a partition of its own, as the sender
 * reaches nothing else. It has ten addresses at most, so each change replaces it, if nobody else has changed it.
 */
export function createDynamoDbEmails(table: Table) {
  return {
    read: async (tenant: string): Promise<Emails> => (await records.read(table, tenant)) ?? nobody,
    /**
     * Changes a tenant's addresses.
     *
     * @param input.change gets them as they are. undefined: nothing is to be changed.
     * @param input.nextDay when the schedule looks at the tenant next. Default: as it was; of a new one, at once.
     * @returns them as they became. undefined: nothing was changed.
     */
    async change(input: {
      tenant: string;
      nextDay?: string;
      change: (emails: Emails) => Emails | undefined;
    }): Promise<Emails | undefined> {
      const { tenant } = input;
      let changed: Emails | undefined;
      await changeItem(table, records.keyOf(tenant), (found) => {
        const before = found ? emailsSchema.parse(found) : nobody;
        changed = input.change(before);
        if (!changed) return undefined;
        const { addresses, asked, lookedAtMs } = changed;
        const nextDay = input.nextDay ?? before.nextDay;
        const isDue = addresses.some(isSubscribed);
        const index = isDue ? kindKey(dueKind, `${nextDay}#${tenant}`) : noKind;
        return { addresses, asked, lookedAtMs, nextDay, ...index };
      });
      return changed;
    },
    /** Some tenants at which the schedule has not looked on this day. Eventually consistent. */
    async listDue({ day, tenantsMax }: { day: string; tenantsMax: number }): Promise<readonly string[]> {
      // `$` is the character after `#`.
      const query = { ...ofKind(dueKind, { before: `${day}$` }), Limit: tenantsMax };
      const items = await firstItems(table, query);
      return items.map((item) => String(item[byKindIndex.sk]).replace(/^[^#]*#/, ''));
    },
    forget: (tenant: string) => records.remove(table, tenant),
  };
}

export type EmailStore = ReturnType<typeof createDynamoDbEmails>;
