import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { dayOf } from '../../core/rules/dates.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { UsageBody } from './byte-hours-contract.ts';
import type { Correction } from './correction-store.ts';
import type { ByteHourPorts } from './ports.ts';
import { afterStep, hourMs, hourName, hourOf, stepOf, wholeHour } from './rules/byte-hours.ts';

/** Whole hours, from the first moment of one to that of another. */
interface Hours {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * A tenant's hours. All of them must be final. Hours before its first scan have nothing; of a tenant that is being deleted there
 * are none.
 *
 * @throws {LedgerUnavailableError}
 */
async function hoursOf(
  { history }: Pick<ByteHourPorts, 'history'>,
  record: TenantRecord,
  { fromMs, toMs }: Hours,
): Promise<UsageBody[]> {
  const { tenant, createdAtMs, closedAtMs } = record;
  const firstMs = Math.max(fromMs, hourOf(createdAtMs));
  if (closedAtMs !== null || firstMs >= toMs) return [];
  const last = stepOf(record);
  // Most tenants have had no step since.
  const isUnchanged = last === undefined || last.atMs < firstMs;
  const { hours, hasNoted } = isUnchanged
    ? { hours: new Map(), hasNoted: () => true }
    : await history.hours({ tenant, from: dayOf(firstMs), to: dayOf(toMs - 1) });
  // The function that committed it may have died before it noted it.
  const unnoted = last && last.atMs < toMs && !hasNoted(last) ? last : undefined;
  const before = [...hours].findLast(([startMs]) => startMs < firstMs);
  let bytes = isUnchanged
    ? (last?.storedBytes ?? 0)
    : (before?.[1].lastBytes ?? (await history.bytesBefore({ tenant, atMs: firstMs })));
  const found: UsageBody[] = [];
  for (let startMs = firstMs; startMs < toMs; startMs += hourMs) {
    const noted = hours.get(startMs);
    const isLate = unnoted && hourOf(unnoted.atMs) === startMs;
    const { byteSeconds, ...stored } = wholeHour(isLate ? afterStep(noted, unnoted, bytes) : noted, bytes);
    bytes = stored.storedBytes;
    const id = `${tenant}:${hourName(startMs)}`;
    found.push({ id, tenant, hour: iso(startMs), byteSeconds: String(byteSeconds), ...stored });
  }
  return found;
}

/** A correction, as clients and files have it. */
export function correctionBody(correction: Correction): UsageBody {
  const { tenant, hourMs: startMs, number, byteSeconds, reason, atMs } = correction;
  const id = `${tenant}:${hourName(startMs)}:c${number}`;
  return { id, tenant, hour: iso(startMs), byteSeconds, reason, at: iso(atMs) };
}

/** One JSON object a line. */
export const linesOf = (usage: readonly UsageBody[]): string =>
  usage.map((record) => `${JSON.stringify(record)}\n`).join('');

const tenantsAtOnce = 16;

/**
 * What is said of some tenants: of each its hours, and then the corrections that were made in these hours, whatever they correct.
 *
 * @param records sorted by name. @returns in their order. @throws {LedgerUnavailableError}
 */
async function usageOf(
  { history, corrections }: ByteHourPorts,
  records: readonly TenantRecord[],
  hours: Hours,
): Promise<(readonly UsageBody[])[]> {
  const [first, last] = [records[0]?.tenant, records.at(-1)?.tenant];
  if (first === undefined || last === undefined) return [];
  const all = await corrections.ofTenants({ first, last });
  const made = all
    .filter(({ atMs }) => atMs >= hours.fromMs && atMs < hours.toMs)
    .sort((a, b) => a.atMs - b.atMs || a.hourMs - b.hourMs || a.number - b.number);
  return mapLimited(records, tenantsAtOnce, async (record) => {
    const { tenant } = record;
    const found = await hoursOf({ history }, record, hours);
    const corrected = made
      .filter((each) => each.tenant === tenant && record.closedAtMs === null)
      .map(correctionBody);
    return [...found, ...corrected];
  });
}

/** Where a page begins: behind so many records of this tenant, and then the tenants after it. */
export interface UsagePlace {
  readonly tenant: string;
  readonly records: number;
}

/** Tenants that one page looks at. */
const pageTenantsMax = 1000;
/** Those that are read by one request. */
const readAtOnce = 100;

/**
 * A page of the records of all tenants, by their names.
 *
 * @param input.after where the page before ended. undefined: it's the first one.
 * @returns up to `limit` records, and where the next page begins. undefined: this is the last one.
 * @throws {LedgerUnavailableError}
 */
export async function usagePage(
  deps: Pick<CoreDeps, 'ledger'> & ByteHourPorts,
  input: Hours & { readonly after?: UsagePlace | undefined; readonly limit: number },
): Promise<{ readonly usage: UsageBody[]; readonly next: UsagePlace | undefined }> {
  const { after, limit } = input;
  const usage: UsageBody[] = [];
  const perTenant = Math.max(1, (input.toMs - input.fromMs) / hourMs);
  let place = after;
  for (let looked = 0; looked < pageTenantsMax; ) {
    const pageSize = Math.min(readAtOnce, Math.ceil((limit - usage.length) / perTenant));
    const rest = place && place.records > 0 ? await deps.ledger.readTenant(place.tenant) : undefined;
    const some = rest
      ? [rest]
      : await deps.ledger.listTenants({ ...(place && { after: place.tenant }), pageSize });
    for (const [index, found] of (await usageOf(deps, some, input)).entries()) {
      const { tenant } = some[index] as TenantRecord;
      const from = rest ? (place?.records ?? 0) : 0;
      const until = from + limit - usage.length;
      usage.push(...found.slice(from, until));
      if (found.length > until) return { usage, next: { tenant, records: until } };
      place = { tenant, records: 0 };
      if (usage.length >= limit) return { usage, next: place };
    }
    if (rest) continue;
    if (some.length === 0) return { usage, next: undefined };
    looked += some.length;
  }
  return { usage, next: place };
}
