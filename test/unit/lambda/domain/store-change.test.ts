import { describe, expect, it } from 'vitest';
import { isDead } from '../../../../lambda/domain/reservation.ts';
import { changeNote, placeOf } from '../../../../lambda/domain/store-change.ts';
import { defaultSettings } from '../../../../lambda/rules/settings.ts';

describe('a key', () => {
  it.each([
    ['acme/app/0123', { tenant: 'acme', repo: 'app', name: '0123' }],
    ['acme/app/deeper/x', { tenant: 'acme', repo: 'app', name: 'deeper/x' }],
    ['acme/app/', undefined],
    ['acme/app', undefined],
    ['acme', undefined],
    ['', undefined],
    ['/acme/app/x', undefined],
    ['acme//x', undefined],
    ['v1/app/x', undefined],
    ['Acme/app/x', undefined],
    ['acme/-app/x', undefined],
  ])('%s names the place %j', (key, place) => {
    expect(placeOf(key)).toEqual(place);
  });
});

it('a note that a repo changed promises nothing, and is dead from the beginning by every clock', () => {
  const nowMs = 1_800_000_000_000;
  const note = changeNote(defaultSettings, { id: 'n', repo: 'app', nowMs });
  const deadAtMs = nowMs - 2 * defaultSettings.clockSkewMs;
  expect(note).toEqual({
    id: 'n',
    repo: 'app',
    state: 'issued',
    claims: new Map(),
    createdAtMs: nowMs,
    expiresAtMs: deadAtMs,
    deadAtMs,
    lookAtMs: null,
  });
  expect(isDead(note, nowMs - defaultSettings.clockSkewMs)).toBe(true);
});
