import { describe, expect, it } from 'vitest';
import { RefusalTally, tallyTenantsMax } from '../../../../lambda/domain/refusal-tally.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);
const dayMs = 86_400_000;

describe('the tally of refusals', () => {
  it('writes the first ten one by one, then one write in ten seconds, and loses none', () => {
    const tally = new RefusalTally();
    const written = Array.from({ length: 12 }, () => tally.add('acme', noonMs));
    expect(written).toEqual([...Array(10).fill(1), 0, 0]);
    expect(tally.add('acme', noonMs + 9999)).toBe(0);
    expect(tally.add('acme', noonMs + 10_000)).toBe(4);
    expect(tally.add('acme', noonMs + 10_001)).toBe(0);
    expect(tally.add('acme', noonMs + 20_001)).toBe(2);
  });

  it('of a client in a loop is bounded', () => {
    const tally = new RefusalTally();
    let [writes, refusals] = [0, 0];
    for (let ms = 0; ms < 3_600_000; ms += 200) {
      const count = tally.add('acme', noonMs + ms);
      writes += count > 0 ? 1 : 0;
      refusals += count;
    }
    expect(writes).toBe(10 + 359);
    expect(refusals).toBeGreaterThan(18_000 - 51);
  });

  it('writes one by one again after a rest', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 20; index += 1) tally.add('acme', noonMs);
    expect(tally.add('acme', noonMs + 100_000)).toBe(11);
    const later = Array.from({ length: 10 }, () => tally.add('acme', noonMs + 100_000));
    expect(later).toEqual([...Array(9).fill(1), 0]);
  });

  it('keeps tenants apart, and begins anew each day', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 15; index += 1) tally.add('acme', noonMs);
    expect(tally.add('other', noonMs)).toBe(1);
    expect(tally.add('acme', noonMs + dayMs)).toBe(1);
  });

  it('takes back what was not written', () => {
    const tally = new RefusalTally();
    expect(tally.add('acme', noonMs)).toBe(1);
    tally.giveBack('acme', 1, noonMs);
    expect(tally.add('acme', noonMs)).toBe(2);
    expect(tally.add('acme', noonMs)).toBe(1);
  });

  it('knows whether its tenant was warned on this day', () => {
    const tally = new RefusalTally();
    tally.add('acme', noonMs);
    expect(tally.isWarned('acme', noonMs)).toBe(false);
    tally.noteWarned('acme', noonMs);
    expect(tally.isWarned('acme', noonMs)).toBe(true);
    expect(tally.isWarned('other', noonMs)).toBe(false);
    // What is gathered is not lost by it.
    tally.giveBack('acme', 3, noonMs);
    tally.noteWarned('acme', noonMs);
    expect(tally.add('acme', noonMs)).toBe(4);
    expect(tally.isWarned('acme', noonMs)).toBe(true);
    expect(tally.isWarned('acme', noonMs + dayMs)).toBe(false);
  });

  it('survives a clock that goes back', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 11; index += 1) tally.add('acme', noonMs);
    expect(tally.add('acme', noonMs - 5000)).toBe(0);
    expect(tally.add('acme', noonMs + 5000)).toBe(3);
  });

  it('remembers so many tenants, and forgets the one that was refused longest ago', () => {
    const tally = new RefusalTally();
    for (let index = 0; index < 11; index += 1) tally.add('first', noonMs);
    for (let index = 0; index < 11; index += 1) tally.add('second', noonMs);
    for (let index = 0; index < tallyTenantsMax - 2; index += 1) tally.add(`t${index}`, noonMs);
    expect(tally.add('first', noonMs)).toBe(0);
    tally.add('one-more', noonMs);
    expect(tally.add('first', noonMs)).toBe(0);
    expect(tally.add('second', noonMs)).toBe(1);
  });
});
