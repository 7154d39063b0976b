import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSettings, type Settings } from '../../../../lambda/domain/settings.ts';
import { settingsFromJson, settingsToJson } from '../../../../lambda/domain/settings-json.ts';

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
    ['{', 'not valid JSON'],
    ['', 'not valid JSON'],
    ['[]', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['7', 'not a JSON object'],
    ['{"urlLifetime": 60}', '"urlLifetime" is not a setting of this version.'],
    ['{"toString": 60}', '"toString" is not a setting'],
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
