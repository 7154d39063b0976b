import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { storeProfileSchema } from '../../../cli/doctor/profile.ts';
import { type Faults, LyingStore } from '../../support/lying-store.ts';
import { useTempFolders } from '../../support/temp-folder.ts';
import { setCredentials, unsetCredentials } from './doctor/examined.ts';
import { cli } from './harness.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

const open: LyingStore[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.stop();
});

async function start(faults: Faults = {}): Promise<{ store: LyingStore; endpoint: string }> {
  const store = await LyingStore.start(faults);
  open.push(store);
  return { store, endpoint: store.url };
}

const ignoresChecksums: Faults = { overlooks: ({ code }) => code === 'BadDigest' };

describe('doctor', () => {
  const tempFolder = useTempFolders();

  it('prints check by check, a summary, and exits with 0', async () => {
    const { endpoint } = await start();
    const { code, out, err } = await cli(['doctor', 's3://objects/a/b', '--endpoint', endpoint]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^Testing s3:\/\/objects below a\/b\/lfs-quota-doctor-[0-9a-f]{16}\/\n\npass {5}credentials /,
    );
    expect(out).toMatch(
      /\npass {5}other-bytes +Rejected with 400 BadDigest: other bytes of the same length\.\n/,
    );
    expect(out).toMatch(/\n56 checks: 53 pass, 3 skipped\.\n$/);
  });

  it('exits with 1 and the reasons when the store cannot be used', async () => {
    const { endpoint } = await start(ignoresChecksums);
    const { code, out, err } = await cli(['doctor', 's3://objects', '--endpoint', endpoint]);
    expect(code).toBe(1);
    expect(err).toMatch(/^error: .* with this store: 2 checks failed \(other-bytes, kept-object\)\.\n.+\n$/);
    expect(out).toMatch(
      /\nFAIL {5}other-bytes +The store kept 2000 bytes of other bytes .*\n +→ Don't use this store/,
    );
    expect(out).toContain(' 2 fail (other-bytes, kept-object)');
  });

  it.each([
    ['usable', {}, 0],
    ['not usable', ignoresChecksums, 1],
  ])('--json prints one object, --profile writes what holds: %s', async (_, faults, exitCode) => {
    const { endpoint } = await start(faults);
    const file = path.join(tempFolder(), 'store.json');
    const args = ['doctor', 's3://objects', '--endpoint', endpoint, '--json', '--profile', file];
    const { code, out } = await cli([...args, '--region', 'auto', '--largest', '2MiB']);
    expect(code).toBe(exitCode);
    const result = JSON.parse(out);
    const failed = exitCode === 0 ? [] : ['other-bytes', 'kept-object'];
    expect(result).toMatchObject({
      bucket: 'objects',
      endpoint,
      region: 'auto',
      usable: exitCode === 0,
      left: [],
    });
    expect(result.checks).toContainEqual({
      id: 'delete',
      outcome: 'pass',
      detail: "A delete removes an object, and repeating it isn't an error.",
    });
    const profile = storeProfileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(profile).toEqual({
      formatVersion: 1,
      probedAt: '2026-11-21T05:00:00.000Z',
      endpoint,
      region: 'auto',
      bucket: 'objects',
      usable: exitCode === 0,
      failed,
      warnings: [],
      holds: result.holds,
    });
    expect(profile.holds).toMatchObject({
      checksumEnforced: exitCode === 0,
      maxPutBytes: 2 * 1024 ** 2,
      partRules: { multipart: true },
    });
  });

  it('stops at an interrupt, cleans up, and writes no profile', async () => {
    let interrupt = () => {};
    let released = 0;
    const { store, endpoint } = await start({
      instead: ({ number }) => {
        if (number === 31) interrupt();
        return undefined;
      },
    });
    const file = path.join(tempFolder(), 'store.json');
    const { code, out, err } = await cli(
      ['doctor', 's3://objects', '--endpoint', endpoint, '--profile', file],
      {
        onInterrupt: (listener) => {
          interrupt = listener;
          return () => {
            released += 1;
          };
        },
      },
    );
    expect({ code, released }).toEqual({ code: 130, released: 1 });
    expect(err).toMatch(
      /^Cleaning up\. Press Ctrl-C again .* below s3:\/\/objects\/lfs-quota-doctor-\w+\/\nerror: Interrupted before all checks ran\.\nRun it again for the others\.\n$/,
    );
    expect(out).toMatch(/pass {5}cleanup +This run left nothing in the bucket\.\n/);
    expect((await store.left()).keys).toEqual([]);
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it('says that there are no credentials', async () => {
    const { store, endpoint } = await start();
    unsetCredentials();
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    const { code, out, err } = await cli(['doctor', 's3://objects', '--endpoint', endpoint]);
    vi.unstubAllEnvs();
    setCredentials();
    expect(code).toBe(1);
    expect(out).toMatch(/FAIL {5}credentials +No credentials for the store\.\n +→ Set AWS_ACCESS_KEY_ID/);
    expect(out).toMatch(/\n56 checks: 1 pass, 1 fail \(credentials\), 54 skipped\.\n$/);
    expect(out.match(/^skipped/gm)).toBeNull();
    expect(err).toMatch(/^error: The store couldn't be tested: the check credentials failed\.\n/);
    expect(store.asked.length).toBe(0);
  });

  it('says that nothing answers', async () => {
    const { code, out } = await cli(['doctor', 's3://objects', '--endpoint', 'http://127.0.0.1:1']);
    expect(code).toBe(1);
    expect(out).toContain("Can't reach http://127.0.0.1:1 (ECONNREFUSED).");
  });

  it('says that the profile could not be written', async () => {
    const { store, endpoint } = await start();
    const folder = tempFolder();
    const write = (file: string) =>
      cli(['doctor', 's3://objects', '--endpoint', endpoint, '--profile', file]);
    const wrong = await write(path.join(folder, 'none', 'store.json'));
    expect(wrong.code).toBe(2);
    expect(wrong.err).toMatch(
      /^error: Can't write to the folder .*none\. Pass another file to --profile\.\n$/,
    );
    expect(store.asked.length).toBe(0);
    const failed = await write(folder);
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(/^error: Couldn't write the profile: EISDIR/);
  });

  it('takes the endpoint and the region from the environment', async () => {
    const { endpoint } = await start({ instead: () => ({ status: 403 }) });
    const env = { AWS_ENDPOINT_URL_S3: endpoint, AWS_REGION: 'here-1' };
    const { out } = await cli(['doctor', 's3://objects', '--json'], { env });
    expect(JSON.parse(out)).toMatchObject({ endpoint, region: 'here-1', usable: false });
  });

  it.each([
    [['objects'], /has no bucket/],
    [['s3://objects/a*'], /without \*/],
    [['s3://objects', '--endpoint', 'ftp://host'], /isn't a URL/],
    [['s3://objects', '--endpoint', ''], /isn't a URL/],
    [['s3://objects', '--largest', 'huge'], /Use a size below 8 PiB/],
    [['s3://objects', '--largest', '6GiB'], /size up to 5GiB/],
    [['s3://objects', '--origin', 'app.example.com'], /Use what a browser sends/],
    [['s3://objects', '--origin', 'https://app.example.com/'], /Use what a browser sends/],
    [[], /missing required argument 'url'/],
  ])('%s is a wrong call', async (args, message) => {
    const { code, out, err } = await cli(['doctor', ...args]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
  });
});
