import { expect, it } from 'vitest';
import { createTokenBody } from '../../../../../lambda/api/contract/tokens.ts';
import { jsonBody } from '../../../../../lambda/api/management/operations.ts';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { httpEvent } from '../../../../support/http-event.ts';

const read = (body: unknown) =>
  jsonBody(
    { settings: defaultSettings },
    httpEvent({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    { schema: createTokenBody },
  );

it('refuses a body in a few words, however many fields it does not know', () => {
  const fields = Array.from({ length: 3_000 }, (_, index) => [`field${index}`, index]);
  const read1 = read({ scope: 'read', ...Object.fromEntries(fields) });
  expect(read1).toMatchObject({ ok: false, response: { statusCode: 422 } });
  expect(JSON.stringify(read1).length).toBeLessThan(1000);
});
