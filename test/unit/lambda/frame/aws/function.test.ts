import { describe, expect, it, vi } from 'vitest';
import {
  AwsServiceError,
  LedgerUnavailableError,
  NewerFormatError,
  SecretError,
  StorageFullError,
} from '../../../../../lambda/core/rules/errors.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { json } from '../../../../../lambda/frame/api/http.ts';
import { respondProblem } from '../../../../../lambda/frame/api/problems.ts';
import {
  type ErrorResponder,
  guard,
  warmUpTable,
  withMetrics,
} from '../../../../../lambda/frame/aws/function.ts';
import { createInvocationLog, createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import { lfsError } from '../../../../../lambda/subjects/lfs/http.ts';
import { noMetrics } from '../../../../../local/lambda-context.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';

const lfs: ErrorResponder = (statusCode, message, requestId) => lfsError({ statusCode, message, requestId });

/** What a client gets, and what is logged, if a handler throws this. */
async function thrown(error: unknown, respondError: ErrorResponder) {
  const logged: unknown[] = [];
  const note = (message: string, fields?: object) => void logged.push({ message, ...fields });
  const invocations = createInvocations();
  const log = createInvocationLog({ info: note, warn: note, error: note }, invocations);
  const handler = guard({ log, invocations }, respondError, () => Promise.reject(error));
  const answer = await handler(httpEvent({ routeKey: 'POST /x' }), noContext);
  return { answer, logged, body: JSON.parse(answer.body ?? '') as Record<string, unknown> };
}

describe('an answer', () => {
  it.each([
    ['https', 'max-age=31536000'],
    ['http', undefined],
  ])('over %s has the header for TLS alone: %s', async (proto, expected) => {
    const invocations = createInvocations();
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const handler = guard({ log, invocations }, lfs, async () => json(200, {}));
    const event = httpEvent({ routeKey: 'GET /x', headers: { 'x-forwarded-proto': proto } });
    const { headers } = await handler(event, noContext);
    expect(headers?.['strict-transport-security']).toBe(expected);
    expect(headers?.['x-content-type-options']).toBe('nosniff');
  });
});

describe('a request with two Authorization headers, joined by the gateway', () => {
  const seen: unknown[] = [];
  const invocations = createInvocations();
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const ask = (authorization: string, respondError: ErrorResponder) => {
    const handler = guard({ log, invocations }, respondError, async ({ headers }) => {
      seen.push(headers['authorization']);
      return json(200, {});
    });
    return handler(httpEvent({ headers: { authorization } }), noContext);
  };

  it('is one with the login that both have', async () => {
    expect((await ask('Bearer one,Bearer one', lfs)).statusCode).toBe(200);
    expect(seen.splice(0)).toEqual(['Bearer one']);
  });

  it('is refused if they differ, and told how to find them', async () => {
    for (const respondError of [lfs, respondProblem]) {
      const { statusCode, body } = await ask('Bearer lfsq_1,Bearer lfsq_2', respondError);
      expect(statusCode).toBe(400);
      expect(body).toMatch(/Two Authorization headers.*git config --show-origin --get-regexp extraheader/);
      expect(body).not.toContain('lfsq_');
    }
    expect(seen).toEqual([]);
  });
});

const secret = 'what nobody outside should read';

describe('an error that a handler throws', () => {
  it.each([
    ['the store', new StoreUnavailableError(secret)],
    ['the ledger', new LedgerUnavailableError(secret)],
    ['the queue', new AwsServiceError({ message: secret, code: 'ServiceUnavailable' })],
  ])('becomes a 503 with Retry-After if %s does not answer', async (_which, error) => {
    for (const respondError of [lfs, respondProblem]) {
      const { answer } = await thrown(error, respondError);
      expect(answer.statusCode).toBe(503);
      expect(answer.headers?.['retry-after']).toBe('5');
      expect(answer.body).not.toContain(secret);
    }
  });

  it.each([
    [{ title: 'Secrets Manager' }, "Secrets Manager doesn't respond. Retry in a few seconds."],
    [{ title: 'Secrets Manager', status: 400 }, 'Secrets Manager failed. Retry in a few seconds.'],
    [{}, "The queue doesn't respond. Retry in a few seconds."],
  ])('names the service that fails: %j', async (service, message) => {
    const error = new AwsServiceError({ message: secret, code: 'ServiceUnavailable', ...service });
    expect((await thrown(error, lfs)).body['message']).toBe(message);
  });

  it('becomes a 503 if a secret is wrong; the log says which one, and what to do', async () => {
    for (const respondError of [lfs, respondProblem]) {
      const { answer, logged } = await thrown(new SecretError('The key must be a PEM.'), respondError);
      expect(answer.statusCode).toBe(503);
      expect(answer.body).toContain("A secret of this server can't be used. Its log explains what to do.");
      expect(logged).toMatchObject([{ error: { message: 'The key must be a PEM.' } }]);
    }
  });

  it('becomes a 503 that says what to do if the storage is full, whatever it is the cause of', async () => {
    const full = new StorageFullError('The disk is full.', { cause: new Error(secret) });
    const errors = [
      full,
      new LedgerUnavailableError(secret, { cause: full }),
      new Error(secret, { cause: full }),
    ];
    for (const error of errors) {
      for (const respondError of [lfs, respondProblem]) {
        const { answer } = await thrown(error, respondError);
        expect(answer.statusCode).toBe(503);
        expect(answer.headers?.['retry-after']).toBe('5');
        expect(answer.body).toContain('The disk is full.');
        expect(answer.body).not.toContain(secret);
      }
    }
  });

  it('becomes a 503 that says what to do if a newer version wrote the tenant; the log has the formats', async () => {
    for (const respondError of [lfs, respondProblem]) {
      const { answer, logged } = await thrown(
        new NewerFormatError('Format 2, and 1 is known.'),
        respondError,
      );
      expect(answer.statusCode).toBe(503);
      expect(answer.body).toContain('The operator must deploy that version again.');
      expect(logged).toMatchObject([{ error: { message: 'Format 2, and 1 is known.' } }]);
    }
  });

  it('becomes a 500 in the format of the LFS API', async () => {
    const { answer, body } = await thrown(new TypeError(secret), lfs);
    expect(answer.statusCode).toBe(500);
    expect(answer.headers?.['content-type']).toBe('application/vnd.git-lfs+json');
    expect(body).toEqual({ message: expect.stringContaining('request-1'), request_id: 'request-1' });
  });

  it('becomes a 500 in the format of the management API', async () => {
    const { answer, body } = await thrown(new TypeError(secret), respondProblem);
    expect(answer.headers?.['content-type']).toBe('application/problem+json');
    expect(body).toEqual({
      type: 'urn:lfs-quota:problem:internal-error',
      code: 'internal-error',
      title: 'Internal error',
      status: 500,
      detail: expect.stringContaining('request-1'),
    });
  });

  it('is logged with its causes, and without their other properties', async () => {
    const cause = Object.assign(new Error('socket closed'), { request: { headers: { authorization: 'x' } } });
    const { logged } = await thrown(new Error('broken', { cause }), lfs);
    expect(logged).toMatchObject([
      {
        requestId: 'request-1',
        route: 'POST /x',
        error: { message: 'broken', cause: { message: 'socket closed' } },
      },
    ]);
    expect(JSON.stringify(logged)).not.toContain('authorization');
  });

  it.each([['a text'], [undefined], [{ odd: true }]])('becomes a 500 even if it is %j', async (odd) => {
    expect((await thrown(odd, lfs)).answer.statusCode).toBe(500);
  });
});

it('reads an item that belongs to no tenant', async () => {
  const readTenant = vi.fn(async () => undefined);
  await warmUpTable({ ledger: { readTenant } });
  expect(readTenant.mock.calls).toEqual([['']]);
});

it('lets a function start even if its table fails', async () => {
  const readTenant = async () => Promise.reject(new Error('no table'));
  await expect(warmUpTable({ ledger: { readTenant } })).resolves.toBeUndefined();
});

it('waits only briefly for a table that does not answer', async () => {
  const startedMs = performance.now();
  await warmUpTable({ ledger: { readTenant: () => new Promise(() => {}) } });
  expect(performance.now() - startedMs).toBeLessThan(3000);
});

it.each(['returns', 'throws'])('what an invocation measured is sent once its handler %s', async (which) => {
  const steps: string[] = [];
  const run = async (given: string) => {
    steps.push('run');
    if (which === 'throws') throw new Error(given);
    return given;
  };
  const handler = withMetrics({ ...noMetrics, flush: () => void steps.push('flush') }, run);
  await handler('x').catch((error: Error) => expect(error.message).toBe('x'));
  expect(steps).toEqual(['run', 'flush']);
});
