import type { TenantRecord } from '../../lambda/core/ledger/rules/tenant.ts';

/** An open tenant with a limit of 100 bytes that was never counted and has nothing. */
export function tenantRecord(more: Partial<TenantRecord> = {}): TenantRecord {
  return {
    tenant: 'acme',
    plan: null,
    limitBytes: 100,
    downloadLimitBytes: null,
    reposMustExist: false,
    storageClass: null,
    suspended: null,
    suspendedMessage: null,
    createdAtMs: 0,
    settingsVersion: 0,
    committedBytes: 0,
    epoch: 1,
    appliedEpoch: 1,
    confirmedBaseBytes: 0,
    confirmedUntilMs: 0,
    deletedBytes: 0,
    intents: new Map(),
    repoLimits: new Map(),
    scanned: null,
    leaseUntilMs: 0,
    listedUntilMs: 0,
    entryCount: 0,
    deletionCount: 0,
    repoCount: 0,
    overtakenEpoch: 0,
    fullScannedAtMs: 0,
    reservedUntilMs: null,
    dueAtMs: 0,
    lookAtMs: null,
    closedAtMs: null,
    ...more,
  };
}

/** A repo without a limit of its own, as a batch names it that adds to the counter. */
export const unlimitedRepo = { name: 'app', limitBytes: null } as const;
