import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultSettings,
  type Settings,
  settingsFromJson,
  settingsToJson,
} from '../../../../../lambda/core/rules/settings.ts';

const names = Object.keys(defaultSettings) as (keyof Settings)[];

describe('settings as JSON', () => {
  it('are absent if nothing differs from the defaults', () => {
    expect(settingsToJson({ ...defaultSettings })).toBeUndefined();
    expect(settingsFromJson(undefined)).toEqual(defaultSettings);
    expect(settingsFromJson('{}')).toEqual(defaultSettings);
  });

  it('contain only what differs', () => {
    const text = settingsToJson({ ...defaultSettings, urlLifetimeMs: 60_000, scanConcurrency: 7 });
    expect(JSON.parse(text ?? '')).toEqual({ urlLifetimeMs: 60_000, scanConcurrency: 7 });
  });

  it('survive a round trip', () => {
    const value = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    const changes = fc.dictionary(fc.constantFrom(...names), value) as fc.Arbitrary<Partial<Settings>>;
    fc.assert(
      fc.property(changes, (changed) => {
        const settings = { ...defaultSettings, ...changed };
        expect(settingsFromJson(settingsToJson(settings))).toEqual(settings);
      }),
    );
  });

  it.each([
    ['{', "isn't valid JSON"],
    ['', "isn't valid JSON"],
    ['[]', "isn't a JSON object"],
    ['null', "isn't a JSON object"],
    ['7', "isn't a JSON object"],
    ['{"urlLifetime": 60}', `"urlLifetime" isn't a setting of this version.`],
    ['{"toString": 60}', `"toString" isn't a setting`],
    ['{"urlLifetimeMs": "60"}', '"urlLifetimeMs" must be a whole number, 0 or more; it is "60".'],
    ['{"urlLifetimeMs": 0.5}', 'it is 0.5.'],
    ['{"urlLifetimeMs": -1}', 'it is -1.'],
    ['{"urlLifetimeMs": null}', 'it is null.'],
    ['{"urlLifetimeMs": 1e300}', '"urlLifetimeMs" must be a whole number'],
  ])('are rejected if they are wrong: %s', (text, message) => {
    expect(() => settingsFromJson(text)).toThrow(message);
  });

  it('say where they are no JSON', () => {
    expect(() => settingsFromJson('{')).toThrow(expect.objectContaining({ cause: expect.any(SyntaxError) }));
  });
});

const settings = defaultSettings;

/** What docs/how-it-works.md promises holds with the defaults. A stage is checked when it is synthesized. */
describe('by default', () => {
  it.each(Object.entries(settings))('%s is a whole number, %d', (_, value) => {
    expect(Number.isSafeInteger(value)).toBe(true);
    expect(value).toBeGreaterThan(0);
  });

  it('a batch is over long before its reservation is voided, by every clock', () => {
    expect(settings.pendingVoidAfterMs).toBeGreaterThan(settings.batchTimeLimitMs + 2 * settings.clockSkewMs);
  });

  it('a batch has time for a reconcile at the limit, and for its answer', () => {
    expect(settings.inlineReconcileBudgetMs).toBeLessThan(settings.batchTimeLimitMs - 5000);
  });

  it('a reservation outlives its URLs by more than what clocks may differ', () => {
    expect(settings.reservationSlackMs).toBeGreaterThan(2 * settings.clockSkewMs);
    expect(settings.urlLifetimeMs).toBeGreaterThan(settings.reservationSlackMs);
  });

  it('no batch is running any more when what it found marked is deleted', () => {
    expect(settings.deleteGraceMs).toBeGreaterThan(settings.batchTimeLimitMs + 2 * settings.clockSkewMs);
  });

  it('the largest object is the largest that S3 takes in one PUT, and has an hour and a half to arrive', () => {
    expect(settings.objectBytesMax).toBe(5_368_709_120);
    expect((settings.objectBytesMax / settings.putMinBytesPerSecond) * 1000).toBeLessThan(5_400_000);
  });

  it('the body of a batch has a thousand bytes for each object', () => {
    expect(settings.bodyBytesMax).toBe(1_048_576);
    expect(settings.bodyBytesMax / settings.batchObjectsMax).toBeGreaterThan(1000);
  });

  it('an idle tenant is counted every 30 days, and a busy one every day', () => {
    expect(settings.idleRefreshMaxMs).toBe(30 * settings.maxAgeMs);
    expect(settings.maxAgeMs).toBe(86_400_000);
  });

  it('a gc run may take 30 days, and has a watch of a day', () => {
    expect(settings.gcLimitMs).toBe(30 * 86_400_000);
    expect(settings.gcWatchMs).toBe(86_400_000);
  });

  it('each shard of a large repo is scanned once in 7 days', () => {
    expect(settings.shardRoundMs).toBe(7 * settings.maxAgeMs);
  });
});
