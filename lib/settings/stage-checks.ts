import { recountCollapseMs } from '../../lambda/domain/recount-policy.ts';
import type { StageSettings } from './stage-settings.ts';

/** A setting that does not go with another one. */
export interface Conflict {
  readonly path: readonly string[];
  readonly message: string;
}

const collapseSeconds = recountCollapseMs / 1000;

/**
 * What must hold between the settings of a stage. docs/ledger.md tells what would break: mostly the promise that
 * usage is never counted too low, and that no recount is lost.
 */
export function conflictsOf(settings: StageSettings): Conflict[] {
  const { alarms, objectStore, protocol, reconcile, refreshEveryMinutes, storeEvents } = settings;
  const conflicts: Conflict[] = [];
  const conflict = (path: string, message: string) => conflicts.push({ path: path.split('.'), message });

  const delaySecondsMin = collapseSeconds + protocol.clockSkewSeconds;
  if (reconcile.delaySeconds < delaySecondsMin)
    conflict(
      'reconcile.delaySeconds',
      `must be ${delaySecondsMin} or more with protocol.clockSkewSeconds ${protocol.clockSkewSeconds}: ` +
        `triggers of the same ${collapseSeconds} s are one message, which may start only after them all`,
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
        `refreshEveryMinutes ${refreshEveryMinutes}: counts get as old as that without a fault`,
    );

  if (storeEvents && objectStore.kind === 'external')
    conflict('storeEvents', 'must be false with an external store: only S3 tells the stack of its objects');
  return conflicts;
}
