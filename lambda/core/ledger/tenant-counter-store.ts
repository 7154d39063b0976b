import { adding, all, anyNamed, exists } from '../table/expressions.ts';
import { methodsOn, type Table, updateItem } from '../table/requests.ts';
import { formatValues, inKnownFormat, tenantKey } from '../table/table.ts';
import { counterField, limitField } from './items.ts';
import { type TenantRecord, tenantEntriesMax } from './rules/tenant.ts';
import { readTenant } from './tenant-store.ts';

export type AddOutcome =
  | { readonly kind: 'added' }
  | { readonly kind: 'refused'; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/** The write that takes up room for a batch. */
export function counterMethods(table: Table) {
  return methodsOn(table, { addCommitted });
}

/**
 * Adds to the atomic counter if the sum stays within `limitBytes`, this still is the tenant's limit, and the
 * tenant is open and was counted before. With `limitBytes: null` the only bound is 2^53 − 1. It counts the reservation
 * and its entries too, up to `tenantEntriesMax`. If the repo has a limit, all of that holds for the repo too, in the same
 * write.
 *
 * `refused` carries the tenant as it was read right after the refusal.
 *
 * The one write of a batch to the tenant item. DynamoDB's conditions have no arithmetic. So the ceiling is computed
 * from the limit that the caller read, and the condition requires that this is still the limit. Keep this write
 * out of transactions: they cancel each other on an item that every batch writes, and cost twice as much.
 *
 * Put the reservation into the table before this write. A reconcile that runs in between must see it, or it takes the
 * bytes off again although URLs follow.
 *
 * Nothing else ever takes an object's bytes off the counter: no verify, no expiry, no delete. Only a reconcile corrects
 * it, by a difference. So nothing is released twice, and a lost or repeated event does no harm.
 *
 * @throws {LedgerUnavailableError} The outcome is unknown: hand out no URL. If the bytes were added, the next
 * reconcile takes them off again.
 */
async function addCommitted(
  table: Table,
  input: {
    tenant: string;
    sumBytes: number;
    /** As it was read. `any`: what is added takes up nothing, so no limit matters, that of a repo neither. */
    limitBytes: number | null | 'any';
    /** The repo, and its limit as it was read. null: it has none. */
    repo: { readonly name: string; readonly limitBytes: number | null };
    /** The reservation and its entries. Default: 0. */
    entryCount?: number;
    /** Refused if the tenant had more of them then. Default: `tenantEntriesMax`. */
    entriesMax?: number;
    /** Refused if a counter holds more before. Default: no matter. Without a limit (`any`) neither counts. */
    beforeMax?: { readonly tenantBytes?: number; readonly repoBytes?: number };
    /** What is late of the tenant and of the repo, as it was read. Refused if there is more since. Default: no matter. */
    unconfirmedMax?: { readonly tenantBytes: number; readonly repoBytes: number };
  },
): Promise<AddOutcome> {
  const { tenant, sumBytes, limitBytes, repo, entryCount = 0, unconfirmedMax, beforeMax = {} } = input;
  const { entriesMax = tenantEntriesMax } = input;
  const { tenantBytes = Number.MAX_SAFE_INTEGER, repoBytes = Number.MAX_SAFE_INTEGER } = beforeMax;
  const repoLimitBytes = limitBytes === 'any' ? null : repo.limitBytes;
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change: [
      adding({ committedBytes: sumBytes, entryCount }),
      ...(repoLimitBytes === null
        ? []
        : [anyNamed('counter', [[counterField(repo.name), sumBytes]]).adding()]),
    ],
    condition: all(
      exists,
      'attribute_not_exists(#closedAtMs)',
      '(attribute_not_exists(#claimCount) OR #claimCount <= :claimsCeiling)',
      ...(limitBytes === 'any'
        ? []
        : [
            '#committedBytes <= :ceiling',
            limitCondition(limitBytes),
            repoLimitCondition(repoLimitBytes),
            ...(unconfirmedMax
              ? [
                  '(attribute_not_exists(#late) OR #late.#bytes <= :late)',
                  '(attribute_not_exists(#repoLimit.#late) OR #repoLimit.#late.#bytes <= :repoLate)',
                ]
              : []),
          ]),
      inKnownFormat,
    ),
    values: {
      ...formatValues,
      ...(limitBytes !== 'any' && {
        ':ceiling': Math.min((limitBytes ?? Number.MAX_SAFE_INTEGER) - sumBytes, tenantBytes),
      }),
      ':claimsCeiling': entriesMax - entryCount,
      ...(limitBytes !== 'any' &&
        unconfirmedMax && { ':late': unconfirmedMax.tenantBytes, ':repoLate': unconfirmedMax.repoBytes }),
      ':limit': typeof limitBytes === 'number' ? limitBytes : undefined,
      ...(repoLimitBytes !== null && {
        ':repoCeiling': Math.min(repoLimitBytes - sumBytes, repoBytes),
        ':repoLimit': repoLimitBytes,
      }),
    },
    ...(limitBytes !== 'any' && { keys: { '#repoLimit': limitField(repo.name) } }),
  });
  if (result.ok) return { kind: 'added' };
  const now = await readTenant(table, tenant);
  return now ? { kind: 'refused', tenant: now } : { kind: 'absent' };
}

/**
 * That the tenant's limit is still the one that was read. One with a limit must have been counted: without
 * `scannedAtMs` in the condition, a new limit on a bucket that was never counted admits anything.
 */
function limitCondition(limitBytes: number | null): string {
  return limitBytes === null
    ? 'attribute_not_exists(#limitBytes)'
    : all('#limitBytes = :limit', 'attribute_exists(#countedAtMs)');
}

/**
 * The same for the limit of the repo. Its counter is there once the repo was counted. "No limit" is a condition too:
 * otherwise a batch adds to the tenant's counter alone after its repo got a limit.
 */
function repoLimitCondition(limitBytes: number | null): string {
  return limitBytes === null
    ? 'attribute_not_exists(#repoLimit)'
    : all('#repoLimit.#limitBytes = :repoLimit', '#counter0 <= :repoCeiling');
}
