import { conflictsOfAdopted } from '../../lambda/domain/adopted-repo.ts';
import { recountCollapseMs } from '../../lambda/domain/recount-policy.ts';
import type { StageSettings } from './stage-settings.ts';

/** A setting that does not fit another one. */
export interface Conflict {
  readonly path: readonly string[];
  readonly message: string;
}

const collapseSeconds = recountCollapseMs / 1000;

/**
 * What must hold between the settings of a stage. Otherwise the protocol of docs/ledger.md breaks: usage may be
 * counted too low, or a recount may be lost.
 */
export function conflictsOf(settings: StageSettings): Conflict[] {
  const { alarms, domain, objectStore, protocol, reconcile, refreshEveryMinutes, storeEvents, throttle } =
    settings;
  const conflicts: Conflict[] = [];
  const conflict = (path: string, message: string) => conflicts.push({ path: path.split('.'), message });

  /** What lies elsewhere would fail minutes into the deployment, or at the first request. */
  const compareArn = (path: string, arn: string) => {
    const [, , , region = '', account = ''] = arn.split(':');
    if (settings.region !== undefined && region !== settings.region)
      conflict(path, `must be in the region of the stage, ${settings.region}, not in ${region}`);
    if (settings.account !== undefined && account !== settings.account)
      conflict(path, `must be in the account of the stage, ${settings.account}, not in ${account}`);
  };

  const delaySecondsMin = collapseSeconds + protocol.clockSkewSeconds;
  if (reconcile.delaySeconds < delaySecondsMin)
    conflict(
      'reconcile.delaySeconds',
      `must be ${delaySecondsMin} or more with protocol.clockSkewSeconds ${protocol.clockSkewSeconds}: ` +
        `triggers in the same ${collapseSeconds} s share one message, which must start after all of them`,
    );

  for (const [rate, burst] of [
    ['requestsPerSecond', 'burst'],
    ['otherRequestsPerSecond', 'otherBurst'],
  ] as const)
    if ((throttle[rate] === 0) !== (throttle[burst] === 0))
      conflict(
        `throttle.${burst}`,
        `must be 0 if throttle.${rate} is 0, and only then: with one of them 0 no request passes`,
      );

  if (protocol.idleRefreshMaxDays * 24 < protocol.maxAgeHours)
    conflict(
      'protocol.idleRefreshMaxDays',
      `must be ${Math.ceil(protocol.maxAgeHours / 24)} or more with protocol.maxAgeHours ${protocol.maxAgeHours}: ` +
        'an idle tenant is not counted more often than a busy one',
    );

  const oldestHours = protocol.maxAgeHours + refreshEveryMinutes / 60;
  if (alarms.recountAgeHours <= oldestHours)
    conflict(
      'alarms.recountAgeHours',
      `must be ${Math.floor(oldestHours) + 1} or more with protocol.maxAgeHours ${protocol.maxAgeHours} and ` +
        `refreshEveryMinutes ${refreshEveryMinutes}: counts normally get that old`,
    );

  if (domain) compareArn('domain.certificateArn', domain.certificateArn);
  if (objectStore.kind === 'external')
    compareArn('objectStore.credentialsSecretArn', objectStore.credentialsSecretArn);

  if (storeEvents && objectStore.kind === 'external')
    conflict(
      'storeEvents',
      "must be false with an external store: events come only from the stack's own bucket",
    );
  for (const { index, message } of conflictsOfAdopted(settings.adoptedRepos))
    conflict(`adoptedRepos.${index}`, message);
  return conflicts;
}
