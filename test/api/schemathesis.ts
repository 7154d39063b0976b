import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { plainEnvironment, run } from '../support/process.ts';
import type { ApiFixture } from './fixture.ts';

/** Requests that one run makes for each operation and phase. Several runs, each with another seed, make many. */
const examplesPerOperation = 25;
const runMaxMs = 40 * 60_000;

interface FuzzRun {
  /** Requests that were made. */
  readonly cases: number;
  /** What schemathesis found, in its words; undefined when it found nothing. */
  readonly findings: string | undefined;
}

/** One run of schemathesis over the whole API. */
export async function fuzzOnce(
  program: string,
  input: { fixture: ApiFixture; folder: string; seed: number },
): Promise<FuzzRun> {
  const { fixture, folder, seed } = input;
  const config = join(folder, 'schemathesis.toml');
  await writeFile(config, configOf(fixture), { mode: 0o600 });
  const args = ['--config-file', config, 'run', `${fixture.url}/openapi.json`];
  const ended = await run(
    program,
    [...args, '--seed', String(seed), '--max-examples', String(examplesPerOperation), '--no-color'],
    {
      cwd: folder,
      env: {
        ...plainEnvironment(),
        HOME: folder,
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'schemathesis-hooks.py'),
      },
      timeoutMs: runMaxMs,
    },
  );
  await rm(join(folder, '.hypothesis'), { recursive: true, force: true });
  const cases = Number(/^ *(\d+) generated/m.exec(ended.out)?.[1] ?? 0);
  return { cases, findings: ended.code === 0 ? undefined : `${ended.out}\n${ended.err}` };
}

/** Which token each operation takes, and names that exist: requests for what does not would only ever see a 404. */
function configOf(fixture: ApiFixture): string {
  const { adminToken, writeToken, tenant, repo, repoToDelete, filesRepo, oid } = fixture;
  const operation = (filter: string, token: string, parameters: Readonly<Record<string, string>>) => {
    const named = Object.entries(parameters).map(([name, value]) => `${name} = "${value}"`);
    return [
      '[[operations]]',
      filter,
      `headers = { Authorization = "Bearer ${token}" }`,
      `parameters = { ${named.join(', ')} }`,
      '',
    ].join('\n');
  };
  const path = (pattern: string) => `include-path-regex = '${pattern}'`;
  const id = (name: string) => `include-operation-id = "${name}"`;
  // Part of what it may ask is said in words.
  const inWords =
    'checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]\n';
  // The first table that fits an operation counts.
  return [
    'continue-on-failure = true',
    'suppress-health-check = ["all"]',
    'warnings = false',
    '',
    // URLs beyond what Node and API Gateway take are refused before a function sees them.
    '[checks.negative_data_rejection]',
    'expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 431]',
    '',
    // A wrong object is answered beside the others, with 200. 509: the month's downloads are used up.
    `${operation(id('batch'), writeToken, { tenant, repo })}checks.negative_data_rejection.enabled = false\nchecks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 509]\n`,
    operation(id('verify'), writeToken, { tenant, repo }),
    operation(id('lock'), writeToken, { tenant, repo }),
    // Null, an empty text and no body are taken, though nobody is told to send them.
    ...['listLocks', 'verifyLocks', 'unlock'].map(
      (name) =>
        `${operation(id(name), writeToken, { tenant, repo })}checks.negative_data_rejection.enabled = false\n`,
    ),
    operation(id('deleteRepo'), adminToken, { tenant, repo: repoToDelete }),
    operation(id('deleteObject'), adminToken, { tenant, repo, oid }),
    operation(id('getRepo'), adminToken, { tenant, repo }),
    operation(id('updateRepo'), adminToken, { tenant, repo }),
    operation(id('deleteTenant'), adminToken, { tenant: 'to-be-deleted' }),
    // That names do not clash is not said by the schema. A list that is too long may be more than the gateway takes, which
    // answers in its own words.
    `${operation(id('startExport'), adminToken, { tenant })}checks.content_type_conformance.enabled = false\n${inWords}`,
    // Which claims a rule must demand, and of which issuer, is said in words.
    `${operation(id('createExchangeRule'), adminToken, { tenant })}${inWords}`,
    // What an address may be is said in words.
    `${operation(id('setWebhook'), adminToken, { tenant })}${inWords}`,
    // Which hosts there are, and what their repositories are called, is said in words.
    `${operation(id('updateRepo'), adminToken, { tenant, repo })}${inWords}`,
    `${operation(id('setUsageWebhook'), adminToken, {})}${inWords}`,
    `${operation(id('setSharedWebhook'), adminToken, {})}${inWords}`,
    // Which hours are final, and that the first isn't after the last, is said in words.
    `${operation(id('listUsage'), adminToken, {})}${inWords}`,
    `${operation(id('correctUsage'), adminToken, { tenant })}${inWords}`,
    // What a file can be called is said in words, and who has all of a tenant has no prefix.
    `${operation(path('^/v1/tenants/.tenant./repos/.repo./(uploads|files|downloads)'), adminToken, { tenant, repo: filesRepo })}${inWords}`,
    `${operation(id('createToken'), adminToken, { tenant })}${inWords}`,
    // Which storage classes a store has is said in words.
    `${operation(id('updateTenant'), adminToken, {})}${inWords}`,
    // A cursor holds what the store named, so only the store can tell a wrong one.
    `${operation(id('listLostTenants'), adminToken, {})}${inWords}`,
    `${operation(id('linkTenant'), adminToken, { tenant })}${inWords}`,
    `${operation(id('allowOrganization'), adminToken, { tenant })}${inWords}`,
    // An export that is deleted is shown as cancelled.
    `${operation(id('getExport'), adminToken, { tenant })}checks.use_after_free.enabled = false\n`,
    `${operation(id('deleteExport'), adminToken, { tenant })}checks.use_after_free.enabled = false\n`,
    operation(path('^/v1/tenants/.tenant./'), adminToken, { tenant }),
    operation(path('^/v1'), adminToken, {}),
  ].join('\n');
}
