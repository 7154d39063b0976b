import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type { PathScanInput } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import type { Exchange } from '../../../../../lambda/core/store/http-exchange.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { systemClock } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { truthOf } from '../../../../support/round-listing.ts';
import { serve } from '../../../../support/serve.ts';
import { exchangeOf, type TokenFault, TokenStore, type TokenStoreOptions } from './token-store.ts';

const credentials = async () => ({ accessKeyId: 'key', secretAccessKey: 'secret' });
const retry = { attemptsMax: 3, baseDelayMs: 0, delayMaxMs: 0 };

function scanOf({ endpoint }: { endpoint: string }, exchange?: Exchange) {
  const place = { bucket: 'b', region: 'us-east-1', endpoint, forcePathStyle: true, credentials };
  const listing = new ScanListing({ client: new BucketClient(place, exchange), retry });
  return createPathScan({ listing, clock: systemClock, settings: defaultSettings });
}

/** Scans over a network whose answers come in the given pieces. */
function scanInPieces(store: TokenStore, cuts: readonly number[], input: PathScanInput) {
  return scanOf({ endpoint: 'http://127.0.0.1:1' }, exchangeOf(store, cuts)).scan(input);
}

/** Latin, Greek, Cyrillic, Arabic, Devanagari, Han, Hangul, emoji, combining marks, and what XML and URLs escape. */
const scripts = [
  'a',
  'ü',
  '£',
  'ÿ',
  'Ж',
  'ω',
  'ع',
  'हि',
  '日本',
  '한',
  '\u{1f600}',
  'e\u0301',
  '&<>"\'',
  ' +%2F?#=',
  '\ufeff',
  '\ufffd',
];
const anyText = fc
  .array(fc.oneof(fc.constantFrom(...scripts), fc.string({ unit: 'grapheme', maxLength: 3 })), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''))
  .filter((text) => !/[\p{Cc}\ufffe\uffff|]/u.test(text));
const anyObjects = fc
  .uniqueArray(fc.record({ name: anyText, sizeBytes: fc.nat(1e6) }), {
    selector: ({ name }) => name,
    maxLength: 40,
  })
  .map((objects) => objects.map(({ name, sizeBytes }) => ({ key: `p/${name}`, sizeBytes })));
const anyOptions = fc.record<Omit<TokenStoreOptions, 'fault'>>({
  objects: anyObjects,
  pageKeysMax: fc.integer({ min: 2, max: 7 }),
  tokenStart: anyText,
  emptyPages: fc.nat(2),
  order: fc.constantFrom('aws', 'trailing', 'pretty'),
  isUrlEncoded: fc.boolean(),
});
const anyCuts = fc.array(fc.nat(8_000), { maxLength: 40 });
/** Both follow tokens: one always, the other over empty pages. */
const anyStrategy = fc.constantFrom('sequential' as const, 'probe' as const);

describe('a listing that continues by tokens in any script', () => {
  it('is counted right, wherever the pieces of its pages end', async () => {
    await fc.assert(
      fc.asyncProperty(anyOptions, anyCuts, anyStrategy, async (options, cuts, kind) => {
        const store = new TokenStore({ ...options, fault: undefined });
        const outcome = await scanInPieces(store, cuts, { prefix: 'p/', strategy: { kind } });
        expect(outcome).toMatchObject({ kind: 'done', ...truthOf(options.objects, 'p/') });
      }),
      { numRuns: 250 },
    );
  });

  it.each<TokenFault>(['same-token', 'two-tokens', 'ignores-token', 'overlaps'])(
    'is counted right or fails if the store does not lead further (%s)',
    async (fault) => {
      let failures = 0;
      await fc.assert(
        fc.asyncProperty(anyOptions, anyCuts, anyStrategy, async (options, cuts, kind) => {
          const store = new TokenStore({ ...options, fault });
          const input = { prefix: 'p/', strategy: { kind }, requestsMax: 150 };
          const outcome = await scanInPieces(store, cuts, input).catch((error: unknown) => error);
          if (outcome instanceof StoreUnavailableError) failures += 1;
          else expect(outcome).toMatchObject({ kind: 'done', ...truthOf(options.objects, 'p/') });
        }),
        { numRuns: 150 },
      );
      // A page that begins with keys of the one before still leads further.
      if (fault === 'overlaps') expect(failures).toBe(0);
      else expect(failures).toBeGreaterThan(10);
    },
  );

  it.each(['ü', '日本', '£'])('is counted right over the network (%s)', async (folder) => {
    const keys = [...names(700, 'a'), ...names(600, folder)];
    const objects = keys.map((key) => ({ key, sizeBytes: 10 }));
    const shape = { tokenStart: '', emptyPages: 0, order: 'trailing', isUrlEncoded: true } as const;
    const store = new TokenStore({ objects, pageKeysMax: 1000, fault: undefined, ...shape });
    const endpoint = await serve((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://store');
      response.writeHead(200, { 'content-type': 'application/xml' }).end(store.answer(searchParams));
    });
    const outcome = await scanOf({ endpoint }).scan({ prefix: '', strategy: { kind: 'sequential' } });
    expect(outcome).toMatchObject({ kind: 'done', objectCount: 1300, storedBytes: 13_000 });
  });
});

function names(count: number, folder: string): string[] {
  return Array.from({ length: count }, (_, index) => `${folder}/${String(index).padStart(4, '0')}.jpg`);
}
