import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../lambda/core/rules/settings.ts';
import { readPublicUrls } from '../../local/reach.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { Api, type TestTenant } from '../blackbox/api.ts';
import { objectOf, push } from '../blackbox/lfs.ts';
import { freePort } from '../support/free-port.ts';
import type { GitHost } from '../support/git-host.ts';
import { type LoggedEntry, recordingLog } from '../support/recording-log.ts';

const adminToken = 'admin-token-of-the-console-tests';

const kib = 1024;
const repos: readonly (readonly [name: string, sizes: readonly number[]])[] = [
  ['atlas-world', [420 * kib, 260 * kib, 90 * kib]],
  ['cinematics', [380 * kib, 100 * kib]],
  ['character-rigs', [240 * kib, 30 * kib]],
  ['audio-master', [170 * kib]],
  ['vegetation', [101 * kib]],
  ['ui-kit', [63 * kib]],
  ['store-assets', [36 * kib]],
  ['motion-capture', [25 * kib]],
  ['a-rather-long-name-of-a-repo-that-somebody-chose', [13 * kib]],
  ['fonts', [3 * kib]],
];

export interface ConsoleFixture {
  readonly stack: EmbeddedStack;
  readonly api: Api;
  /** With repos, counted, below its limit. */
  readonly usual: TestTenant & { readonly manageToken: string };
  readonly empty: TestTenant;
  /** What the functions have logged. */
  readonly logged: readonly LoggedEntry[];
  close(): Promise<void>;
}

/** An embedded stack with a tenant that stores something, and one that does not. */
export async function startConsole({
  settings = {},
  queueTiming = { quietMs: 200, quietMaxMs: 500, spacingMs: 200 },
  gitHosts = [],
  path = '',
}: {
  settings?: Partial<Settings>;
  queueTiming?: Parameters<typeof startEmbeddedStack>[0]['queueTiming'];
  gitHosts?: readonly GitHost[];
  /** Of its URL. */
  path?: string;
} = {}): Promise<ConsoleFixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-console-'));
  const { log, entries: logged } = recordingLog();
  const trusted = { gitHosts };
  const port = path === '' ? 0 : await freePort();
  const stack = await startEmbeddedStack({
    port,
    ...(path && { reach: { publicUrls: readPublicUrls(`http://127.0.0.1:${port}${path}`) } }),
    dataDir,
    adminToken,
    ...(queueTiming && { queueTiming }),
    settings,
    log,
    createDemo: false,
    ...trusted,
  });
  const api = new Api({ url: stack.url, adminToken });
  const tenant = await named(api, 'northlight', { limitBytes: 2_500_000, plan: 'studio' });
  for (const [repo, sizes] of repos) await push(api, { ...tenant, repo }, sizes.map(objectOf));
  await api.manage('GET', '/v1/tenants/northlight/subscription?refresh=true');
  const empty = await named(api, 'demo', { limitBytes: kib ** 3 });
  await named(api, 'observatory', {});
  const { token: manageToken } = await api.newToken('northlight', {
    scope: 'manage',
    label: 'administrator',
  });
  return {
    stack,
    api,
    usual: { ...tenant, manageToken },
    empty,
    logged,
    async close() {
      await stack.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A tenant with a token to read and one to push. */
async function named(
  api: Api,
  tenant: string,
  account: { limitBytes?: number; plan?: string },
): Promise<TestTenant> {
  const made = await api.manage('POST', '/v1/tenants', { tenant, ...account });
  if (made.status !== 201) throw new Error(made.text);
  const { token: writeToken } = await api.newToken(tenant, { scope: 'write', label: 'artists' });
  const { token: readToken } = await api.newToken(tenant, { scope: 'read', label: 'build farm' });
  return { tenant, writeToken, readToken };
}
