import { createHash } from 'node:crypto';
import type { Exchange } from '../../../../../lambda/core/store/http-exchange.ts';
import type { ListedObject } from '../../../../support/round-listing.ts';

const collator = new Intl.Collator('en');
const hashOf = (key: string) => createHash('md5').update(key).digest('hex');
const upTo = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Orders that stores list in. Each is a total order. */
export const orders = {
  utf8: (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  utf16: upTo,
  'no case': (a: string, b: string) => upTo(a.toLowerCase(), b.toLowerCase()) || upTo(a, b),
  hashed: (a: string, b: string) => upTo(hashOf(a), hashOf(b)),
  locale: (a: string, b: string) => collator.compare(a, b) || upTo(a, b),
  'folders last': (a: string, b: string) =>
    upTo(a.replaceAll('/', '\uffff'), b.replaceAll('/', '\uffff')) || upTo(a, b),
} as const;

/** How stores write the keys of a page. */
export const encodings = {
  none: (key: string) => key,
  url: (key: string) => encodeURIComponent(key).replaceAll('%2F', '/'),
  'with slashes': encodeURIComponent,
  'with +': (key: string) => encodeURIComponent(key).replaceAll('%20', '+'),
  'but not +': (key: string) => encodeURIComponent(key).replaceAll('%2B', '+'),
  'in lower case': (key: string) => encodeURIComponent(key).replace(/%../g, (byte) => byte.toLowerCase()),
} as const;

/** Which objects a store lists more than once. */
export const repeats = {
  never: (objects: readonly ListedObject[]) => objects,
  'in a row': (objects: readonly ListedObject[]) => objects.flatMap((each) => [each, each]),
  /** As RustFS does with all that lies below the marker of a folder. */
  'below a folder': (objects: readonly ListedObject[]) => {
    const folder = objects.find(({ key }) => key.includes('/'))?.key.split('/', 1)[0];
    const below = objects.filter(({ key }) => key.startsWith(`${folder}/`));
    const last = objects.findLastIndex((each) => below.includes(each));
    return objects.toSpliced(last + 1, 0, ...below);
  },
} as const;

export interface Habits {
  readonly order: keyof typeof orders;
  readonly encoding: keyof typeof encodings;
  readonly saysUrl: boolean;
  readonly repeats: keyof typeof repeats;
  readonly isInclusive: boolean;
  readonly ignoresStartAfter: boolean;
  readonly hasEmptyPages: boolean;
  readonly pageKeysMax: number;
}

const escapeXml = (text: string) => text.replace(/[&<>\p{Cc}]/gu, (char) => `&#${char.codePointAt(0) ?? 0};`);

/** The answers of a store with habits of its own. Its token says how many entries came before. */
export function oddAnswers(
  objects: readonly ListedObject[],
  habits: Habits,
): (query: URLSearchParams) => string {
  const compare = orders[habits.order];
  const sorted = [...objects].sort((a, b) => compare(a.key, b.key));
  const encode = encodings[habits.encoding];
  return (query) => {
    const prefix = query.get('prefix') ?? '';
    const all = repeats[habits.repeats](sorted.filter(({ key }) => key.startsWith(prefix)));
    const [at = '', isEmptied] = query.get('continuation-token')?.split('!') ?? [];
    const after = habits.ignoresStartAfter ? null : query.get('start-after');
    const isBehind = ({ key }: ListedObject) =>
      after === null || compare(key, after) > 0 || (habits.isInclusive && key === after);
    const first = at === '' ? all.findIndex(isBehind) : Number(at);
    const from = first < 0 ? all.length : first;
    const isEmpty = habits.hasEmptyPages && isEmptied === undefined && from % 3 === 0;
    const room = Math.min(habits.pageKeysMax, Number(query.get('max-keys') ?? 1000));
    const page = isEmpty ? [] : all.slice(from, from + room);
    const to = from + page.length;
    const isTruncated = isEmpty || to < all.length;
    return (
      `<ListBucketResult>${habits.saysUrl ? '<EncodingType>url</EncodingType>' : ''}` +
      `<KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>` +
      (isTruncated ? `<NextContinuationToken>${to}${isEmpty ? '!' : ''}</NextContinuationToken>` : '') +
      page
        .map(
          ({ key, sizeBytes }) =>
            `<Contents><Key>${escapeXml(encode(key))}</Key><Size>${sizeBytes}</Size></Contents>`,
        )
        .join('') +
      '</ListBucketResult>'
    );
  };
}

/** Replaces the network: such a store. */
export function oddStore(objects: readonly ListedObject[], habits: Habits): Exchange {
  const answer = oddAnswers(objects, habits);
  return {
    send: async ({ request, readerOf }) => {
      const reader = readerOf({ status: 200, headers: {} });
      reader.write(Buffer.from(answer(new URL(request.path, request.origin).searchParams)));
      return reader.end();
    },
    destroy: () => {},
  };
}
