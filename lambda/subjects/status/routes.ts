import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { release } from '../../core/rules/release.ts';
import { json } from '../../frame/api/http.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { type StatusBody, statusContract } from './contract.ts';
import type { StatusPorts } from './ports.ts';
import { readStatus, type ServiceStatus } from './status.ts';

type Needs = Pick<CoreDeps, 'listing'> & StatusPorts;

export const statusOperations = operationsFor<Needs>()(statusContract, {
  /** What does not answer is shown as such: the answer is 200 all the same. */
  'GET /v1/status': async (deps) => json(200, statusBody(await readStatus(deps))),
});

function statusBody(status: ServiceStatus): StatusBody {
  const { parts, store, schedule, overdue } = status;
  const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));
  return {
    ...release,
    checkedAt: iso(status.checkedAtMs),
    state: parts.every(({ state }) => state === 'fine') ? 'fine' : 'act',
    parts: [...parts],
    store: {
      kind: store.kind,
      bucket: store.bucket,
      endpoint: store.endpoint,
      latencyMs: store.latencyMs === null ? null : Math.max(0, Math.round(store.latencyMs)),
    },
    schedule: schedule && {
      ranAt: isoOrNull(schedule.ranAtMs),
      handedUntil: isoOrNull(schedule.handedUntilMs),
    },
    overdue: overdue && {
      tenants: overdue.tenants.map(({ tenant, dueAtMs }) => ({ tenant, dueAt: iso(dueAtMs) })),
      more: overdue.isCut,
    },
    queues: status.queues.map(({ oldestAtMs, ...level }) => ({ ...level, oldestAt: isoOrNull(oldestAtMs) })),
    failures:
      status.failures?.map(({ atMs, sinceMs, isOver, appliedEpoch: _, ...failure }) => ({
        ...failure,
        failedAt: iso(atMs),
        since: iso(sinceMs),
        over: isOver,
      })) ?? null,
  };
}
