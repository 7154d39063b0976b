import { describe, expect, it } from 'vitest';
import { KnownPeople, type PersonVerdict, verdictsMax } from '../../../../lambda/domain/known-people.ts';

const refused: PersonVerdict = { kind: 'refused', reason: 'no-access' };

describe('what a process knows of people', () => {
  it('is kept until its time is over', () => {
    const known = new KnownPeople();
    expect(known.find('a', 0)).toBeUndefined();
    known.keep('a', refused, 10);
    expect(known.find('a', 9)).toBe(refused);
    expect(known.find('b', 9)).toBeUndefined();
    expect(known.find('a', 10)).toBeUndefined();
    expect(known.find('a', 9)).toBeUndefined();
  });

  it('is replaced by what is newer', () => {
    const known = new KnownPeople();
    const limited: PersonVerdict = { kind: 'limited', untilMs: 5 };
    known.keep('a', refused, 10);
    known.keep('a', limited, 5);
    expect(known.find('a', 4)).toBe(limited);
    expect(known.find('a', 5)).toBeUndefined();
  });

  it('is bounded: the oldest is forgotten', () => {
    const known = new KnownPeople();
    for (let index = 0; index < verdictsMax; index += 1) known.keep(`k${index}`, refused, 10);
    expect(known.find('k0', 0)).toBe(refused);
    known.keep('k0', refused, 10);
    known.keep('one more', refused, 10);
    expect(known.find('k0', 0)).toBe(refused);
    expect(known.find('k1', 0)).toBeUndefined();
    expect(known.find('k2', 0)).toBe(refused);
    expect(known.find('one more', 0)).toBe(refused);
  });

  it('knows whom a host let in, until it refuses them, whatever else is asked about', () => {
    const known = new KnownPeople();
    const grant = { person: { id: 'github:1', login: 'ada' }, access: 'read' } as const;
    known.keep('ada', { kind: 'granted', grant }, 10);
    expect(known.find('ada', 10)).toBeUndefined();
    for (let index = 0; index <= verdictsMax; index += 1) known.keep(`k${index}`, refused, 10);
    known.keep('ada', { kind: 'limited', untilMs: 20 }, 20);
    expect([known.wasLetIn('ada'), known.wasLetIn('k1')]).toEqual([true, false]);
    known.keep('ada', refused, 30);
    expect(known.wasLetIn('ada')).toBe(false);
    for (let index = 0; index <= verdictsMax; index += 1)
      known.keep(`p${index}`, { kind: 'granted', grant }, 10);
    expect([known.wasLetIn('p0'), known.wasLetIn('p1')]).toEqual([false, true]);
  });

  it('is asked once for all who ask at the same time, and anew afterwards, also after an error', async () => {
    const known = new KnownPeople();
    let asked = 0;
    const ask = async () => {
      asked += 1;
      await Promise.resolve();
      if (asked === 2) throw new Error('broken');
      return refused;
    };
    expect(await Promise.all([known.askOnce('a', ask), known.askOnce('a', ask)])).toEqual([refused, refused]);
    expect(asked).toBe(1);
    await expect(Promise.all([known.askOnce('a', ask), known.askOnce('a', ask)])).rejects.toThrow('broken');
    expect(asked).toBe(2);
    await Promise.all([known.askOnce('a', ask), known.askOnce('b', ask)]);
    expect(asked).toBe(4);
  });
});
