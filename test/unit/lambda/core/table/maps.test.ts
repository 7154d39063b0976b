import { describe, expect, it } from 'vitest';
import type { TestedSubject } from '../../../../support/subject.ts';
import * as subjects from '../../../../support/subjects.ts';
import { sources } from '../../../import-graph.ts';

/**
 * Where an item, or a message, is read as a map, and why none of its names is `__proto__`, which zod and the SDK drop. Names that others
 * choose are pairs (`namedFields` in `lambda/core/ledger/items.ts`).
 */
const maps: Readonly<Record<string, string>> = {
  'lambda/core/ledger/items.ts: chunked': 'oids',
  'lambda/core/ledger/items.ts: objects': 'other names are pairs',
  'lambda/core/ledger/rules/reservation.ts: entries': 'oids, or names of files: __proto__ is none',
  'lambda/core/ledger/rules/tenant.ts: crowd': 'ids of tokens and rules',
  'lambda/core/ledger/rules/tenant.ts: intents': 'random ids',
  'lambda/core/ledger/rules/tenant.ts: makers': 'ids of tokens and rules',
  'lambda/frame/access/rules/audit.ts: fields': 'fields of our own answers',
  ...Object.assign({}, ...Object.values<TestedSubject>(subjects).map((of) => of.maps)),
};

describe('a map of an item', () => {
  it('has no names that others choose', () => {
    const found = [...sources]
      .filter(([path]) => path.startsWith('lambda/') && !/\/contract\/|contract\.ts$/.test(path))
      .flatMap(([path, text]) =>
        text
          .split('\n')
          .filter((line) => /\b(z\.record|mapOf)\(/.test(line))
          .map((line) => `${path}: ${/^\s*(?:const )?(\w+)( =|:)/.exec(line)?.[1] ?? ''}`),
      );
    expect(found.sort()).toEqual(Object.keys(maps).sort());
  });
});
