import { iso } from '../../../api/contract/fields.ts';
import type { StageStatus } from '../../../use-cases/status/read-status.ts';
import type { StatusBody } from './schemas.ts';

export function statusBody(status: StageStatus): StatusBody {
  const { parts, store, schedule, overdue } = status;
  const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));
  return {
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
