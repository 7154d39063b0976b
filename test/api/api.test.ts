import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/describe-with.ts';
import { plainEnvironment, run } from '../support/process.ts';
import { type ApiFixture, startApi } from './fixture.ts';
import { fuzzOnce } from './schemathesis.ts';

/** Requests to make at least: `API_CASES`, by default as many as CI makes. */
const casesMin = Number(process.env['API_CASES'] || 1500);
const seedFirst = Number(process.env['API_SEED'] || 1);

const missing = (variable: string) => `${variable} is not set. Run: .ci/api.sh run -- npm run test:api`;

let folder: string;
let api: { fixture: ApiFixture; close: () => Promise<void> };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lfs-quota-api-'));
  api = await startApi(join(folder, 'data'));
});

afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

const redocly = process.env['API_REDOCLY'] || undefined;
describeWith({ title: 'the linter', found: redocly, missing: missing('API_REDOCLY') }, (program) => {
  it('finds nothing wrong in /openapi.json', async () => {
    const { code, out, err } = await run(program, ['lint', `${api.fixture.url}/openapi.json`], {
      cwd: folder,
      env: {
        ...plainEnvironment(),
        HOME: folder,
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      },
      timeoutMs: 60_000,
    });
    expect(code, `${out}\n${err}`).toBe(0);
    expect(`${out}\n${err}`).not.toMatch(/warning/i.test(out) ? /^Warning/m : /\[\d+\] .*openapi.json/);
  });
});

const schemathesis = process.env['API_SCHEMATHESIS'] || undefined;
describeWith(
  { title: 'schemathesis', found: schemathesis, missing: missing('API_SCHEMATHESIS') },
  (program) => {
    it(`makes ${casesMin} requests, and each answer is as /openapi.json has it`, async () => {
      let cases = 0;
      for (let seed = seedFirst; cases < casesMin; seed += 1) {
        const found = await fuzzOnce(program, { fixture: api.fixture, folder, seed });
        expect(found.findings, `seed ${seed}: repeat it with API_SEED=${seed}`).toBeUndefined();
        expect(found.cases, 'requests of one run').toBeGreaterThan(100);
        cases += found.cases;
        process.stderr.write(`${cases} of ${casesMin} requests, seed ${seed}: nothing found\n`);
      }
    });
  },
);
