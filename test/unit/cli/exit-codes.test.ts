import { afterEach, describe, expect, it } from 'vitest';
import { CliError, exitCodes, problemHints, refusalError, unreachableError } from '../../../cli/errors.ts';
import { problemTypes } from '../../../lambda/frame/contract/problems.ts';
import { type Answer, cli, startServer, type TestServer } from './harness.ts';

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ended(answer: Answer, ...args: string[]) {
  server = await startServer(() => answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
  return cli(args.length > 0 ? args : ['usage', 'acme'], { env });
}

const problem = (status: number, code: string): Answer => ({
  status,
  type: 'application/problem+json',
  body: { type: `urn:lfs-quota:problem:${code}`, code, title: 'Refused', status, detail: 'It is so.' },
});

/** The last line says what to do: a sentence with a verb, a command or an address. */
const nextStep =
  /\n(?=[A-Z]).*(lfs-quota [a-z-]+|Retry|[Ss]et|Fix|Check|check|[Cc]hoose|update|Send|pass|enable).*\n$/;

describe('each problem of the API', () => {
  it.each(Object.entries(problemTypes))(
    '%s: the exit code of its status, and a next step',
    async (code, { status }) => {
      const expected =
        status === 404
          ? 3
          : status === 401 || status === 403
            ? 4
            : status === 429 || status === 503
              ? 6
              : status === 500
                ? 1
                : 5;
      const { code: exitCode, err } = await ended(problem(status, code));
      expect(exitCode).toBe(expected);
      expect(err).toMatch(nextStep);
      const says =
        code === 'tenant-not-found' ? 'Tenant "acme" not found, or your token can\'t see it.' : 'It is so.';
      expect(err.startsWith(`error: ${says} (${status})\n`)).toBe(true);
    },
  );
});

it('there is a hint for no problem that the API does not have', () => {
  expect(Object.keys(problemHints).filter((code) => !(code in problemTypes))).toEqual([]);
});

describe('an answer that is no problem of lfs-quota', () => {
  it.each([
    [200, 1],
    [302, 1],
    [400, 1],
    [401, 4],
    [403, 4],
    [404, 1],
    [418, 1],
    [429, 6],
    [500, 1],
    [502, 6],
    [503, 6],
    [504, 6],
  ])('%i ends with %i, and says what to do', async (status, expected) => {
    const { code, err, out } = await ended({ status, body: '<html>', type: 'text/html' });
    expect({ code, out }).toEqual({ code: expected, out: '' });
    expect(err).toMatch(nextStep);
  });

  it('of a problem that this version does not know has a next step too', async () => {
    const { code, err } = await ended(problem(423, 'something-new'));
    expect(code).toBe(5);
    expect(err).toMatch(/update the older/);
    const proto = await ended(problem(409, 'constructor'));
    expect(proto.err).toMatch(nextStep);
  });
});

describe('an answer that does not come in time', () => {
  const changed = 'The change might have succeeded: check before retrying.';
  it.each([
    ['GET', 'Retry in a few seconds.'],
    ['POST', changed],
    ['PUT', changed],
    ['PATCH', changed],
    ['DELETE', changed],
  ])('may have changed something, which is to be checked, but for a GET: %s', (method, hint) => {
    const baseUrl = 'https://lfs.example.com';
    const late = unreachableError(new DOMException('late', 'TimeoutError'), baseUrl, method);
    expect(late).toMatchObject({ message: `${baseUrl} timed out.`, hint, failure: 'unavailable' });
    for (const status of [500, 502, 503, 504]) {
      const broken = refusalError({
        status,
        body: undefined,
        request: { method, path: '/v1/status' },
        baseUrl,
      });
      const what = [502, 504].includes(status)
        ? 'A proxy answers, but not lfs-quota behind it. Is it running?'
        : 'Server error: see its log.';
      expect(broken.hint).toBe(`${what} ${hint}`);
    }
  });
});

it('an authority that Node.js does not know has a next step', () => {
  const cause = Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  const { hint } = unreachableError(new TypeError('fetch failed', { cause }), 'https://lfs.example.com');
  expect(hint).toContain('NODE_EXTRA_CA_CERTS');
});

describe('an error that another one caused', () => {
  it('ends as that one, unless it is said otherwise', () => {
    const cause = new CliError('No.', { hint: 'Wait.', failure: 'unavailable' });
    expect(new CliError('Broken.', { hint: 'Do.', cause }).failure).toBe('unavailable');
    expect(new CliError('Broken.', { hint: 'Do.', cause, failure: 'interrupted' }).failure).toBe(
      'interrupted',
    );
    expect(new CliError('Broken.', { hint: 'Do.', cause: new Error('x') }).failure).toBe('failed');
  });
});

describe('the others', () => {
  it('never change', () => {
    const codes = Object.entries(exitCodes).map(([name, { code }]) => [name, code]);
    expect(codes).toEqual([
      ['done', 0],
      ['failed', 1],
      ['usage', 2],
      ['not-found', 3],
      ['unauthorized', 4],
      ['refused', 5],
      ['unavailable', 6],
      ['interrupted', 130],
    ]);
  });

  it('are in the help, which fits a screen', async () => {
    const { out } = await cli(['--help']);
    for (const { code, meaning } of Object.values(exitCodes))
      expect(out).toMatch(new RegExp(`[ \\n]${code} ${meaning.replace(/[:,].*/, '')}`));
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});
