import type { CountProgress, RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import type { TokenRecord } from '../../ports/credentials.ts';
import type { DeletePlan } from '../../use-cases/deletes/delete-objects.ts';
import type { Subscription } from '../../use-cases/recounts/get-subscription.ts';
import type { ShownReservation } from '../../use-cases/uploads/list-reservations.ts';
import type {
  CountBody,
  DeletePlanBody,
  RepoBody,
  ReservationBody,
  SubscriptionBody,
  TenantBody,
  TokenBody,
} from './schemas.ts';

/** Records of the ledger as the bodies of schemas.ts. */

export const iso = (timeMs: number) => new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

const deletingMark = (closedAtMs: number | null) => (closedAtMs === null ? {} : { deleting: true as const });

/** null: never counted, which is not zero. */
function usageBody(tenant: TenantRecord, source: 'cache' | 'scan'): TenantBody['usage'] {
  if (tenant.counted === null) return null;
  const { storedBytes, objectCount, countedAtMs } = tenant.counted;
  const reservedBytes = Math.max(0, tenant.committedBytes - storedBytes);
  return {
    storedBytes,
    objectCount,
    // What may still arrive, as an upper bound.
    reservedBytes,
    reservedUntil: reservedBytes > 0 && tenant.reservedUntilMs !== null ? iso(tenant.reservedUntilMs) : null,
    committedBytes: tenant.committedBytes,
    countedAt: iso(countedAtMs),
    source,
  };
}

export function tenantBody(tenant: TenantRecord): TenantBody {
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    createdAt: iso(tenant.createdAtMs),
    usage: usageBody(tenant, 'cache'),
    ...deletingMark(tenant.closedAtMs),
  };
}

/** The repos that are shown: those with an object, and those that are being deleted until they are open again. */
export function reposBody(
  repos: readonly RepoRecord[],
  { fullCountedAtMs }: Pick<TenantRecord, 'fullCountedAtMs'>,
): RepoBody[] {
  return (
    repos
      // A repo is a path: with nothing below it there is none.
      .filter((repo) => repo.closedAtMs !== null || (repo.epoch > 0 && repo.objectCount > 0))
      .map(({ repo, epoch, storedBytes, objectCount, countedAtMs, closedAtMs }) => ({
        repo,
        // Deleted before it was ever counted: unknown, which is not zero.
        storedBytes: epoch > 0 ? storedBytes : null,
        objectCount: epoch > 0 ? objectCount : null,
        countedAt: epoch > 0 ? iso(Math.max(countedAtMs, fullCountedAtMs)) : null,
        ...deletingMark(closedAtMs),
      }))
  );
}

/** Nothing of a repo that is no giant. */
export function countBody({ repo, giant, countPausedAtMs, countCancelledAtMs = 0 }: RepoRecord): CountBody[] {
  if (!giant) return [];
  const isRecount = giant.recountFromMs > countCancelledAtMs && giant.progress !== undefined;
  const isCounting = giant.isFirstCount === true || isRecount;
  const isPaused = countPausedAtMs !== undefined;
  return [
    {
      repo,
      kind: giant.isFirstCount ? 'first' : isRecount ? 'recount' : 'rolling',
      state: isPaused ? 'paused' : 'running',
      progress: isCounting && giant.progress ? progressBody(giant.progress, isPaused) : null,
    },
  ];
}

function progressBody(progress: CountProgress, isPaused: boolean): CountBody['progress'] {
  const { share, objectCount, listRequests, beganMs, atMs } = progress;
  const seconds = (atMs - beganMs) / 1000;
  return {
    share,
    objectCount,
    listRequests,
    objectsPerSecond: seconds > 0 ? objectCount / seconds : null,
    secondsLeft: isPaused || share === 0 ? null : Math.ceil((seconds * (1 - share)) / share),
    beganAt: iso(beganMs),
    updatedAt: iso(atMs),
  };
}

export function reservationBody(reservation: ShownReservation): ReservationBody {
  const { id, repo, state, objectCount, bytes, hasArrived } = reservation;
  return {
    id,
    repo,
    state,
    objectCount,
    bytes,
    arrived: hasArrived,
    createdAt: iso(reservation.createdAtMs),
    expiresAt: iso(reservation.expiresAtMs),
    reservedUntil: iso(reservation.heldUntilMs),
  };
}

/** What the delete of a whole tenant, one of its repos, or one object frees. */
export function deletePlanBody(
  path: { tenant: string; repo?: string; oid?: string },
  plan: DeletePlan,
): DeletePlanBody {
  const { objectCount, bytes, dueAtMs, waitsFor } = plan;
  return { ...path, objectCount, bytes, dueAt: iso(dueAtMs), ...(waitsFor && { waitsFor }) };
}

export function subscriptionBody(subscription: Subscription): SubscriptionBody {
  const { tenant, repos, source, refreshing } = subscription;
  return {
    tenant: tenant.tenant,
    plan: tenant.plan,
    limitBytes: tenant.limitBytes,
    usage: usageBody(tenant, source),
    repos: reposBody(repos, tenant),
    refreshing,
    ...deletingMark(tenant.closedAtMs),
  };
}

export function tokenBody(token: TokenRecord): TokenBody {
  const { tokenId, scope, label, createdAtMs } = token;
  return { tokenId, scope, label, createdAt: iso(createdAtMs) };
}
