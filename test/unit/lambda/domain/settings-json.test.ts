import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSettings, type Settings } from '../../../../lambda/domain/settings.ts';
import { settingsFromJson, settingsToJson } from '../../../../lambda/domain/settings-json.ts';

const names = Object.keys(defaultSettings) as (keyof Settings)[];

describe('settings as text', () => {
  it('are nothing where nothing differs from the defaults', () => {
    expect(settingsToJson({ ...defaultSettings })).toBeUndefined();
    expect(settingsFromJson(undefined)).toEqual(defaultSettings);
    expect(settingsFromJson('{}')).toEqual(defaultSettings);
  });

  it('hold what differs, and no more', () => {
    const text = settingsToJson({ ...defaultSettings, urlLifetimeMs: 60_000, scanConcurrency: 7 });
    expect(JSON.parse(text ?? '')).toEqual({ urlLifetimeMs: 60_000, scanConcurrency: 7 });
  });

  it('come back as they were', () => {
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
    ['{', 'no JSON'],
    ['', 'no JSON'],
    ['[]', 'no JSON object'],
    ['null', 'no JSON object'],
    ['7', 'no JSON object'],
    ['{"urlLifetime": 60}', '"urlLifetime" is no setting of this version.'],
    ['{"toString": 60}', '"toString" is no setting'],
    ['{"urlLifetimeMs": "60"}', '"urlLifetimeMs" must be a whole number, 0 or more; it is "60".'],
    ['{"urlLifetimeMs": 0.5}', 'it is 0.5.'],
    ['{"urlLifetimeMs": -1}', 'it is -1.'],
    ['{"urlLifetimeMs": null}', 'it is null.'],
    ['{"urlLifetimeMs": 1e300}', '"urlLifetimeMs" must be a whole number'],
  ])('that are wrong are refused: %s', (text, message) => {
    expect(() => settingsFromJson(text)).toThrow(message);
  });
});
