import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { functionSpecs } from '../../lib/functions/function-specs.ts';
import { protocolSettings, settingsOf } from '../../lib/settings/protocol-settings.ts';
import { parseStageSettings, StageSettingsError } from '../../lib/settings/stages.ts';

describe('the settings of the protocol', () => {
  it('are by default those of the product', () => {
    expect(settingsOf(protocolSettings.parse({}))).toEqual(defaultSettings);
  });

  it.each(Object.keys(protocolSettings.unwrap().shape))('%s changes one setting of the product', (name) => {
    const parsed = protocolSettings.parse({});
    const changed = { ...parsed, [name]: parsed[name as keyof typeof parsed] + 1 };
    const [before, after] = [settingsOf(parsed), settingsOf(changed)];
    const differing = Object.entries(after).filter(
      ([key, value]) => before[key as keyof typeof before] !== value,
    );
    expect(differing).toHaveLength(1);
  });
});

describe('a setting that would break the protocol', () => {
  it.each([
    [
      { urlLifetimeMinutes: 61 },
      'urlLifetimeMinutes: must be 60 or less: a presigned URL expires with the role session',
    ],
    [{ clockSkewSeconds: 0 }, 'clockSkewSeconds: must be 1 or more'],
    [{ clockSkewSeconds: 16 }, 'clockSkewSeconds: must be 15 or less: a batch must be over'],
    [{ deleteGraceMinutes: 0 }, 'deleteGraceMinutes: must be 1 or more: a push may protect'],
    [
      { inlineReconcileBudgetSeconds: 21 },
      'inlineReconcileBudgetSeconds: must be 20 or less: the batch function',
    ],
    [{ scanWaitSeconds: 25 }, 'scanWaitSeconds: must be 24 or less: the function that waits'],
    [{ objectMaxMiB: 5121 }, 'objectMaxMiB: must be 5120 or less: S3 accepts at most 5 GiB'],
    [{ putMinBytesPerSecond: 9_999 }, 'putMinBytesPerSecond: Too small'],
    [{ listRequestsPerHour: 0 }, 'listRequestsPerHour: Too small'],
    [{ maxAgeHours: 0.5 }, 'maxAgeHours: Invalid input: expected int'],
    [{ personKeptMinutes: 61 }, 'personKeptMinutes: must be 60 or less: whoever loses access'],
    [{ personKeptMinutes: 0 }, 'personKeptMinutes: Too small'],
    [{ urlLifetimeMs: 1 }, 'protocol: Unrecognized key: "urlLifetimeMs"'],
  ])('is rejected by name: %j', (protocol, message) => {
    expect(() => parseStageSettings('prod', { protocol })).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', { protocol })).toThrow(message);
  });

  it.each([
    [
      { protocol: { clockSkewSeconds: 6 } },
      'reconcile.delaySeconds: must be 36 or more with protocol.clockSkewSeconds 6',
    ],
    [{ reconcile: { delaySeconds: 34 } }, 'reconcile.delaySeconds: must be 35 or more'],
    [
      { protocol: { maxAgeHours: 48, idleRefreshMaxDays: 1 }, alarms: { recountAgeHours: 60 } },
      'protocol.idleRefreshMaxDays: must be 2 or more with protocol.maxAgeHours 48',
    ],
    [{ protocol: { maxAgeHours: 36 } }, 'alarms.recountAgeHours: must be 37 or more'],
    [{ refreshEveryMinutes: 1_440 }, 'alarms.recountAgeHours: must be 49 or more'],
    [{ reconcile: { timeoutMinutes: 1 } }, 'reconcile.timeoutMinutes: must be 2 or more: a run spends'],
  ])('is rejected if it does not fit another one: %j', (settings, message) => {
    expect(() => parseStageSettings('prod', settings)).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', settings)).toThrow(message);
  });

  it('is accepted if the other one fits', () => {
    const settings = { protocol: { clockSkewSeconds: 6, maxAgeHours: 36 }, reconcile: { delaySeconds: 36 } };
    expect(parseStageSettings('prod', { ...settings, alarms: { recountAgeHours: 37 } })).toMatchObject(
      settings,
    );
  });
});

describe('at the bounds of the settings', () => {
  /** Every setting at its lower, or every setting at its upper bound. */
  const bound = (which: 'minValue' | 'maxValue') =>
    settingsOf(
      protocolSettings.parse(
        Object.fromEntries(
          Object.entries(protocolSettings.unwrap().shape).map(([name, schema]) => [
            name,
            schema.unwrap()[which],
          ]),
        ),
      ),
    );
  const [least, most] = [bound('minValue'), bound('maxValue')];
  const seconds = (name: keyof typeof functionSpecs) => 1000 * (functionSpecs[name].timeoutSeconds ?? 0);
  const longestRunMs = Math.max(seconds('lfsBatch'), seconds('management'));

  it('the batch function times out when the protocol says so', () => {
    expect(seconds('lfsBatch')).toBe(defaultSettings.batchTimeLimitMs);
  });

  it('a batch is over by every clock when its reservation is voided', () => {
    expect(most.pendingVoidAfterMs).toBeGreaterThan(most.batchTimeLimitMs + 2 * most.clockSkewMs);
  });

  it('a run that protects an object from deletion is over when the grace is', () => {
    expect(least.deleteGraceMs).toBeGreaterThan(longestRunMs + 2 * most.clockSkewMs);
  });

  it('clients that wait are answered before the function times out', () => {
    expect(most.inlineReconcileBudgetMs).toBeLessThan(seconds('lfsBatch'));
    expect(most.scanWaitMs).toBeLessThan(seconds('getSubscription'));
  });

  it('a URL expires before its reservation', () => {
    for (const settings of [least, most]) {
      expect(settings.reservationSlackMs).toBeGreaterThan(2 * settings.clockSkewMs);
      expect(settings.urlLifetimeMs).toBeLessThanOrEqual(3_600_000);
    }
  });
});
