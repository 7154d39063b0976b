import { describe, expect, it } from 'vitest';
import { ifChanged, json } from '../../../../lambda/api/http.ts';
import { httpEvent } from '../../../support/http-event.ts';

const asking = (etag?: string) =>
  httpEvent({ headers: { ...(etag !== undefined && { 'if-none-match': etag }) } });
const etagOf = (body: unknown) => String(ifChanged(asking(), json(200, body)).headers?.['etag']);

describe('an answer that may be known', () => {
  it('names its content', () => {
    expect(etagOf({ a: 1 })).toMatch(/^"[0-9a-f]{32}"$/);
    expect(etagOf({ a: 1 })).toBe(etagOf({ a: 1 }));
    expect(etagOf({ a: 1 })).not.toBe(etagOf({ a: 2 }));
    expect(ifChanged(asking(), json(200, { a: 1 }))).toMatchObject({ statusCode: 200, body: '{"a":1}' });
  });

  it.each([(etag: string) => etag, (etag: string) => `"other", ${etag}`, (etag: string) => `W/${etag}`])(
    'is left out if the client has it',
    (sent) => {
      const etag = etagOf({ a: 1 });
      expect(ifChanged(asking(sent(etag)), json(200, { a: 1 }))).toEqual({
        statusCode: 304,
        headers: { etag, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      });
    },
  );

  it('is sent to a client that has another one', () => {
    for (const known of [etagOf({ a: 2 }), '', '*', etagOf({ a: 1 }).slice(0, -2)])
      expect(ifChanged(asking(known), json(200, { a: 1 }))).toMatchObject({
        statusCode: 200,
        body: '{"a":1}',
      });
  });
});
