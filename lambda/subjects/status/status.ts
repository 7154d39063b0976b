import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { NewerFormatError } from '../../core/rules/errors.ts';
import { release } from '../../core/rules/release.ts';
import { errorChain, redactText } from '../../core/rules/text.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { Failure } from '../../frame/failures/rules/failures.ts';
import type { GaugedQueue, QueueLevel } from '../../frame/gauges/rules/gauges.ts';
import { readUncounted } from '../../frame/gauges/uncounted.ts';
import type { StatusBody } from './contract.ts';
import type { StatusPorts } from './ports.ts';
import { diskPart } from './rules/disk.ts';
import {
  type Finding,
  failuresPart,
  type Overdue,
  overdueMs,
  overdueTenantsMax,
  queuePart,
  type ShownFailure,
  schedulePart,
  storePart,
  tenantsPart,
} from './rules/status.ts';
import { uncountedPart } from './uncounted.ts';

type StatusDeps = Pick<CoreDeps, 'ledger' | 'listing' | 'clock'> & StatusPorts;

/** No part of the answer waits longer: the gateway ends a request after 30 s. */
const partMsMax = 8_000;
/** More of what an error says is not shown. */
const whyCharactersMax = 200;

/**
 * Looks at store, queues, schedule and tenants, all at the same time. What does not answer is shown as such, and keeps nothing
 * else: this never throws, and takes some 8 s at most.
 *
 * It takes six LISTs (or up to 51, with many archives and files of usage), two requests for each queue, and some ten units of the table. If tenants are overdue, reading them takes more,
 * at most what one run of the schedule does.
 */
export async function readStatus(deps: StatusDeps): Promise<StatusBody> {
  const { ledger, clock, queueGauges, storeProbe } = deps;
  const { kind, endpoint, bucket } = storeProbe;
  const nowMs = clock.nowMs();
  const [store, uncounted, ran, overdue, failures, levels] = await Promise.all([
    find(clock, async () => {
      await storeProbe.probe();
      return { latencyMs: clock.nowMs() - nowMs, damage: await storeProbe.damage?.read() };
    }),
    find(clock, () => readUncounted(deps)),
    find(clock, async () => {
      const ran = await ledger.readRefreshState();
      // What an older version wrote does not say when it ran.
      return ran ? { ...ran, ranAtMs: ran.ranAtMs ?? ran.handedUntilMs } : null;
    }),
    find(clock, () => readOverdue(deps, nowMs)),
    find(clock, () => readFailures(deps, nowMs)),
    Promise.all(
      queueGauges.map(async (gauge) => ({
        queue: gauge.queue,
        found: await find(clock, () => gauge.read()),
      })),
    ),
  ]);
  const parts = [
    storePart({ kind, endpoint, bucket, answer: store }),
    ...(deps.disk ? [diskPart(deps.disk())] : []),
    uncountedPart(uncounted),
    schedulePart(ran, nowMs),
    tenantsPart(overdue, nowMs),
    ...levels.map(({ queue, found }) => queuePart(queue, found, nowMs)),
    failuresPart(failures),
  ];
  return {
    ...release,
    checkedAt: iso(nowMs),
    state: parts.every(({ state }) => state === 'fine') ? 'fine' : 'act',
    parts,
    store: {
      kind,
      bucket,
      endpoint,
      latencyMs: store.ok ? Math.max(0, Math.round(store.value.latencyMs)) : null,
    },
    schedule: ran.ok
      ? { ranAt: isoOrNull(ran.value?.ranAtMs), handedUntil: isoOrNull(ran.value?.handedUntilMs) }
      : null,
    overdue: overdue.ok ? overdueBody(overdue.value) : null,
    queues: levels.flatMap(({ queue, found }) => (found.ok ? [queueBody(queue, found.value)] : [])),
    failures: failures.ok ? failures.value.map(failureBody) : null,
  };
}

const isoOrNull = (ms: number | null = null) => (ms === null ? null : iso(ms));

const overdueBody = ({ tenants, isCut: more }: Overdue) => ({
  tenants: tenants.map(({ tenant, dueAtMs }) => ({ tenant, dueAt: iso(dueAtMs) })),
  more,
});

const queueBody = (queue: GaugedQueue, { oldestAtMs, ...level }: QueueLevel) => ({
  queue,
  ...level,
  oldestAt: isoOrNull(oldestAtMs),
});

const failureBody = ({ atMs, sinceMs, isOver: over, appliedEpoch: _, ...failure }: ShownFailure) => ({
  ...failure,
  failedAt: iso(atMs),
  since: iso(sinceMs),
  over,
});

async function readOverdue({ ledger }: Pick<CoreDeps, 'ledger'>, nowMs: number): Promise<Overdue> {
  const untilMs = nowMs - overdueMs;
  const found = await ledger.dueTenants({ untilMs, tenantsMax: overdueTenantsMax });
  // Several can be due since the same moment.
  return { tenants: found.due.slice(0, overdueTenantsMax), isCut: found.untilMs < untilMs };
}

/**
 * With whether each is over: a reconcile that committed since has made up for it. The time of a count alone does not tell: that of a
 * tenant with large repos may stay as it is for long.
 */
async function readFailures(
  {
    ledger,
    failures,
    failureKinds,
  }: Pick<CoreDeps, 'ledger'> & Pick<StatusPorts, 'failures' | 'failureKinds'>,
  nowMs: number,
): Promise<readonly ShownFailure[]> {
  const isOver = async (failure: Failure) => {
    const known = failureKinds.find(({ kind }) => kind === failure.kind);
    if (known) return known.isOver(failure, nowMs);
    try {
      const tenant = await ledger.readTenant(failure.tenant);
      const { atMs, appliedEpoch = Number.MAX_SAFE_INTEGER } = failure;
      return !tenant || tenant.appliedEpoch > appliedEpoch || (tenant.scanned?.scannedAtMs ?? 0) > atMs;
    } catch (error) {
      if (error instanceof NewerFormatError) return false;
      throw error;
    }
  };
  return Promise.all(
    (await failures.list()).map(async (failure) => ({ ...failure, isOver: await isOver(failure) })),
  );
}

/** What somebody finds out in time. Never rejects. */
async function find<T>(clock: CoreDeps['clock'], look: () => Promise<T>): Promise<Finding<T>> {
  const late = clock.sleep(partMsMax).then((): Finding<T> => {
    return { ok: false, why: `no answer within ${partMsMax / 1000} s` };
  });
  const found = look().then(
    (value): Finding<T> => ({ ok: true, value }),
    (error: unknown): Finding<T> => ({ ok: false, why: whyText(error) }),
  );
  return Promise.race([found, late]);
}

function whyText(error: unknown): string {
  const text = redactText(errorChain(error));
  return text.length <= whyCharactersMax ? text : `${text.slice(0, whyCharactersMax)}…`;
}
