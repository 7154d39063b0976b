import { describe, expect, it } from 'vitest';
import {
  differenceOf,
  type ExportState,
  readState,
  writeState,
} from '../../../../cli/export-local/workspace.ts';

const oid = 'a'.repeat(64);
const state: ExportState = {
  wish: { url: 'http://127.0.0.1:8787', tenant: 'acme', repo: null, wanted: null },
  createdAtMs: 1_795_000_000_000,
  missing: [{ oid: 'f'.repeat(64), sizeBytes: null }],
  objects: [
    { oid, sizeBytes: 5, etag: '', key: `acme/art/${oid}` },
    { oid: 'b'.repeat(64), sizeBytes: 0, etag: '', key: 'acme/x/b', name: 'a folder/ä b.bin' },
  ],
};

describe('the file of what a local export has', () => {
  it('is read as it was written', () => {
    const { text, id } = writeState(state);
    expect(readState(text)).toEqual({ kind: 'read', state, id });
    expect(writeState({ ...state, createdAtMs: 1 }).id).not.toBe(id);
  });

  it('is not taken when it is cut or changed anywhere', () => {
    const { text } = writeState(state);
    for (let at = 0; at < text.length; at += 1) {
      expect(readState(text.slice(0, at)).kind, `cut at ${at}`).not.toBe('read');
      // What ends the first line says nothing.
      const changed = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`;
      if (text[at] !== '}' || at !== text.indexOf('}'))
        expect(readState(changed).kind, `changed at ${at}`).not.toBe('read');
    }
  });

  it('tells what another export differs in', () => {
    const { wish } = state;
    expect(differenceOf(wish, wish)).toBeUndefined();
    expect(differenceOf(wish, { ...wish, tenant: 'other' })).toBe('of acme, not of other');
    expect(differenceOf(wish, { ...wish, repo: 'art' })).toBe('of all repos, not of the repo art');
    expect(differenceOf(wish, { ...wish, url: 'https://x' })).toBe(
      'from http://127.0.0.1:8787, not from https://x',
    );
    expect(differenceOf({ ...wish, wanted: '1' }, wish)).toBe('of the objects of a list, not of all objects');
    expect(differenceOf({ ...wish, wanted: '1' }, { ...wish, wanted: '2' })).toBe('of other objects');
  });
});
