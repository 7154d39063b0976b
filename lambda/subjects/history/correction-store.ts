import * as z from 'zod';
import { dayMs } from '../../core/rules/dates.ts';
import type { Frozen } from '../../core/rules/stored.ts';
import { recordsOf } from '../../core/table/records.ts';
import { allItems, ofKind, type Table } from '../../core/table/requests.ts';
import { expiring, keyNames, kindKey } from '../../core/table/table.ts';
import { partitionOf } from './history-store.ts';
import { hourName } from './rules/byte-hours.ts';
import { historyDaysMax } from './rules/history.ts';

const schema = z.object({
  tenant: z.string(),
  /** The first moment of the hour that it corrects. */
  hourMs: z.number(),
  /** Of its hour, from 1 on. */
  number: z.number(),
  /** A whole number, as text: with a minus, these were too many. */
  byteSeconds: z.string(),
  reason: z.string(),
  /** When it was made. */
  atMs: z.number(),
});
export type Correction = Frozen<z.output<typeof schema>>;

const indexKind = 'CORRECTION';

const corrections = recordsOf<Pick<Correction, 'tenant' | 'hourMs' | 'number'>, Correction>({
  keyOf: ({ tenant, hourMs, number }) => ({
    pk: partitionOf(tenant),
    sk: `FIX#${hourName(hourMs)}#${String(number).padStart(2, '0')}`,
  }),
  schema,
  fields: (record) => ({
    ...record,
    ...kindKey(indexKind, `${record.tenant}#${hourName(record.hourMs)}#${record.number}`),
    ...expiring(record.atMs + historyDaysMax * dayMs),
  }),
});

export type Corrections = ReturnType<typeof createDynamoDbCorrections>;

/** Corrections of byte-hours, with the tenant's days. None is ever changed. */
export function createDynamoDbCorrections(table: Table) {
  return {
    /** @returns `same`: it was there. `other`: its number has this one. @throws {LedgerUnavailableError} */
    async add(correction: Correction): Promise<{ kind: 'added' | 'same' | 'other'; correction: Correction }> {
      if (await corrections.put(table, correction)) return { kind: 'added', correction };
      const known = (await corrections.read(table, correction)) ?? correction;
      const isSame = known.byteSeconds === correction.byteSeconds && known.reason === correction.reason;
      return { kind: isSame ? 'same' : 'other', correction: known };
    },
    /** Those of some tenants, from the first name to the last, in any order. @throws {LedgerUnavailableError} */
    async ofTenants({ first, last }: { first: string; last: string }): Promise<readonly Correction[]> {
      // A `#` follows the name. It's between these two, and before what a longer name goes on with.
      const found = await allItems(table, ofKind(indexKind, { after: `${first}!`, before: `${last}$` }));
      const keys = found.map((item) => {
        const [, hour = '', number] = String(item[keyNames.sk]).split('#');
        const tenant = String(item[keyNames.pk]).slice(partitionOf('').length);
        return { tenant, hourMs: Date.parse(hour.replace('Z', ':00Z')), number: Number(number) };
      });
      return keys.length === 0 ? [] : corrections.readSome(table, keys);
    },
  };
}
