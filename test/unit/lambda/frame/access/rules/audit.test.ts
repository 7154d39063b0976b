import { describe, expect, it } from 'vitest';
import { auditFields, auditIdOf, auditText } from '../../../../../../lambda/frame/access/rules/audit.ts';

describe('the place of an entry', () => {
  it('is by time, to the millisecond, and by request', () => {
    const at = (atMs: number, requestId: string) => auditIdOf({ atMs, requestId });
    expect(at(Date.UTC(2026, 10, 21, 5), 'Uz0d=')).toBe('2026-11-21T05:00:00.000Z#Uz0d=');
    expect(at(1, 'b') < at(2, 'a')).toBe(true);
    expect(at(1, 'x'.repeat(500))).toHaveLength(24 + 1 + 100);
  });
});

describe('the fields of an entry', () => {
  it('are those of the request', () => {
    const fields = { plan: null, limitBytes: 5, dryRun: false, repos: ['a', 'b'], match: { ref: ['main'] } };
    expect(auditFields({ ...fields, cursor: undefined })).toEqual(fields);
  });

  it('hold no token, no credentials and no signed URL, wherever they stand', () => {
    const token = `lfsq_${'a'.repeat(40)}`;
    const url = 'https://s3.example/b/k?X-Amz-Date=1&X-Amz-Signature=abc';
    const text = JSON.stringify(
      auditFields({
        label: `my ${token}`,
        repos: [token],
        match: { [token]: [`Bearer ${'b'.repeat(20)}`] },
        url,
      }),
    );
    expect(text).not.toMatch(/a{8}|b{8}|Signature/);
    expect(text).toContain('my lfsq_…');
  });

  it('are cut where they are long, many or deep', () => {
    expect(auditText('é'.repeat(255))).toBe('é'.repeat(255));
    expect(auditText('é'.repeat(256))).toBe(`${'é'.repeat(255)}…`);
    expect(auditText('x'.repeat(100_000))).toBe(`${'x'.repeat(255)}…`);
    const list = (length: number) =>
      auditFields({ list: Array.from({ length }, (_, index) => index) })['list'];
    expect(list(20)).toHaveLength(20);
    expect(list(21)).toEqual([...Array.from({ length: 20 }, (_, index) => index), '…']);
    const map = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, index]));
    expect(Object.keys(auditFields({ map })['map'] as object)).toHaveLength(20);
    expect(auditFields({ a: { b: { c: { d: 1 } } } })).toEqual({ a: { b: { c: { d: 1 } } } });
    expect(auditFields({ a: { b: { c: { d: { e: 1 } } } } })).toEqual({ a: { b: { c: { d: '…' } } } });
    expect(auditFields({ a: [[[1]]] })).toEqual({ a: [[[1]]] });
    expect(auditFields({ a: [[[[1]]]] })).toEqual({ a: [[['…']]] });
    expect(auditFields({ a: Symbol('x') })).toEqual({ a: '…' });
  });

  it('are the first of a long list of long texts, as many as fit', () => {
    // 15 of 255 characters with quotes and commas, the sign for what is left out, and the name.
    const paths = (length: number) => Array.from({ length }, (_, index) => `${10 + index}`.padEnd(255, 'x'));
    expect(auditFields({ paths: paths(20), hasMore: true })).toEqual({
      paths: [...paths(15), '…'],
      hasMore: true,
    });
    expect(auditFields({ paths: paths(30) })).toEqual({ paths: [...paths(15), '…'] });
    expect(auditFields({ paths: paths(15) })).toEqual({ paths: paths(15) });
    const none = auditFields({ first: paths(15), paths: paths(2), last: 1 });
    expect(none).toEqual({ first: paths(15), paths: ['…'], last: 1 });
  });

  it('are looked at for 510 characters each, and what comes after them is left out even if they become few', () => {
    const token = (length: number) => 'lfsq_'.padEnd(length, 'a');
    expect(auditText(token(510))).toBe('lfsq_…');
    expect(auditText(`${token(510)} `)).toBe('lfsq_……');
    expect(auditText(`${token(510)} and more`)).toBe('lfsq_……');
  });

  it('may be 4096 bytes together, and not one more', () => {
    // 15 of 260 bytes each, with their names and the JSON around them, leave 196: of which 10 are not text.
    const fifteen = Array.from({ length: 15 }, (_, index) => [`f${10 + index}`, 'x'.repeat(250)]);
    const lastOf = (text: string) => auditFields(Object.fromEntries([...fifteen, ['f25', text]]))['f25'];
    expect(lastOf('é'.repeat(93))).toBe('é'.repeat(93));
    expect(lastOf(`${'é'.repeat(93)}x`)).toBe('…');
  });

  it('are 4 KiB together, and say where more was', () => {
    const text = 'x'.repeat(250);
    const fields = auditFields(
      Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`f${String(index).padStart(2, '0')}`, text]),
      ),
    );
    const kept = Object.values(fields).filter((value) => value === text);
    // Each is 250 characters, its name, and the JSON around them: 260 bytes.
    expect(kept).toHaveLength(15);
    expect(Object.values(fields).filter((value) => value === '…')).toHaveLength(5);
  });
});
