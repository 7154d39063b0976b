import { describe, expect, it } from 'vitest';
import { fromStored, stored } from '../../../../../lambda/core/table/stored-names.ts';

describe('attributes with an older name in the table', () => {
  const record = {
    repo: 'game',
    scannedAtMs: 1,
    large: { sinceEpoch: 2, rescanFromMs: 3 },
    'limit game': { limitBytes: 4, unconfirmed: { bytes: 5 } },
    pending: [{ kind: 'threshold', threshold: 80 }],
    state: 'scheduled',
  };
  const item = {
    repo: 'game',
    countedAtMs: 1,
    giant: { sinceEpoch: 2, recountFromMs: 3 },
    'limit game': { limitBytes: 4, late: { bytes: 5 } },
    pending: [{ kind: 'level', level: 80 }],
    state: 'marked',
  };

  it('are stored as earlier versions have them, and read as the code has them', () => {
    expect(stored(record)).toEqual(item);
    expect(fromStored(item)).toEqual(record);
  });

  it('are not the keys of a map that users choose, nor the words in them', () => {
    expect(stored({ objects: { large: 1 }, entries: { threshold: 2 }, plan: 'scheduled' })).toEqual({
      objects: { large: 1 },
      claims: { threshold: 2 },
      plan: 'scheduled',
    });
  });

  it('are renamed once for an item that nobody can change', () => {
    const frozen = Object.freeze({ ...item });
    expect(fromStored(frozen)).toBe(fromStored(frozen));
    expect(fromStored(item)).not.toBe(fromStored(item));
  });
});
