import fc from 'fast-check';
import { lfsType } from './lfs.ts';

/** Anything that JSON can say, with the words of the API and numbers at the edges among it. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<fc.JsonValue>('upload', 'download', 'sha256', 'basic', 0, -0, 2 ** 53, 1e300, [], {}),
);

const object = fc.record(
  {
    oid: fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[0-9a-f]{64}$/) },
      fc.constant('1'.repeat(64)),
      fc.string(),
      anyJson,
    ),
    size: fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 10_000 }) }, fc.double(), anyJson),
  },
  { noNullPrototype: true },
);

const batchBody = fc.record(
  {
    operation: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('upload', 'download') }, anyJson),
    objects: fc.oneof({ weight: 4, arbitrary: fc.array(object, { maxLength: 6 }) }, anyJson),
    transfers: fc.oneof({ weight: 4, arbitrary: fc.constantFrom([], ['basic'], ['ssh', 'basic']) }, anyJson),
    hash_algo: fc.oneof({ weight: 8, arbitrary: fc.constant('sha256') }, anyJson),
    ref: anyJson,
  },
  { requiredKeys: ['operation', 'objects'], noNullPrototype: true },
);

const managementBody = fc.dictionary(
  fc.constantFrom('limitBytes', 'plan', 'scope', 'label', '__proto__', 'x'),
  fc.oneof(fc.constantFrom<fc.JsonValue>('read', 'write', 5), anyJson),
  { noNullPrototype: true },
);

/** A batch request's body in JSON, of which any part may be anything. */
export const batchText = batchBody.map((body) => JSON.stringify(body));

const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.oneof(batchBody, object, managementBody).map((body) => JSON.stringify(body)),
  },
  fc.json(),
  fc.string({ unit: 'binary' }),
  // A document that was cut off.
  fc.tuple(batchText, fc.nat()).map(([whole, at]) => whole.slice(0, at % whole.length)),
);

/** A body: most often JSON that some route knows, sometimes none at all. */
export const anyBytes = fc.oneof({ weight: 5, arbitrary: text }, fc.uint8Array({ maxLength: 200 }));

/** Characters that a header, or a path, can carry at all. */
const headerText = fc
  .string({ unit: fc.constantFrom(...visible(' ')), maxLength: 60 })
  .map((one) => one.trim());
const rawSegment = fc.string({
  unit: fc.constantFrom(...visible('!').filter((one) => !'/?#'.includes(one))),
});

function visible(from: string): string[] {
  const first = from.charCodeAt(0);
  return Array.from({ length: 0x7f - first }, (_, index) => String.fromCharCode(first + index));
}

/** Stands in a path for the name of the tenant that the test has made. */
export const ownTenant = 'TENANT';

const words = ['v1', 'tenants', 'health', 'game.git', 'info', 'lfs', 'objects', 'batch', 'verify', 'locks'];
const odd = ['', '.', '..', '%2e%2e', '%2f', '%00', '%', '%zz', '%ff', '%c3%a4', '{tenant}'];
const segment = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(...words, 'subscription', 'tokens', 'repos', 'reservations', ownTenant),
  },
  fc.constantFrom(...odd, 'subscription'),
  rawSegment,
  fc.string({ unit: 'binary' }).map((one) => encodeURIComponent(one)),
);
const shapes = ['/v1/tenants/*', '/v1/tenants/*/*', '/*/*/info/lfs/objects/batch', '/*/*/info/lfs/*'];
const path = fc.oneof(
  fc.array(segment, { maxLength: 7 }).map((parts) => `/${parts.join('/')}`),
  fc
    .tuple(fc.constantFrom(...shapes), fc.array(segment, { minLength: 3, maxLength: 3 }))
    .map(([shape, parts]) => parts.reduce((filled, part) => filled.replace('*', () => part), shape)),
);
const query = fc.oneof(
  fc.constant(''),
  rawSegment.map((one) => `?${one}`),
);

/**
 * A request of any route or none, by anybody: `who` is the operator, the tenant's own, or the text of a header.
 */
export const anyRequest = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
  target: fc.tuple(path, query).map((parts) => parts.join('')),
  accept: fc.oneof(fc.constantFrom(lfsType, '*/*'), headerText),
  type: fc.oneof(fc.constantFrom(lfsType, 'application/json'), headerText),
  who: fc.oneof(fc.constantFrom('operator', 'tenant'), headerText),
  body: anyBytes,
});
