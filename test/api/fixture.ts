import { z } from 'zod';
import { startEmbeddedStack } from '../../local/start.ts';
import { startStandInHost } from '../support/git-host.ts';
import { push } from '../support/lfs-client.ts';

/** A running API with something in it. */
export interface ApiFixture {
  readonly url: string;
  readonly adminToken: string;
  readonly writeToken: string;
  readonly tenant: string;
  /** Holds the object. */
  readonly repo: string;
  /** Holds something too. */
  readonly repoToDelete: string;
  /** Of files. */
  readonly filesRepo: string;
  readonly oid: string;
}

/** Starts the embedded stack on an empty data folder, and pushes an object into each of two repos. */
export async function startApi(
  dataDir: string,
): Promise<{ fixture: ApiFixture; close: () => Promise<void> }> {
  // The host of the examples, which knows nobody.
  const gitHost = await startStandInHost('github', 'github');
  const trusted = { gitHosts: [gitHost.setting] };
  const stack = await startEmbeddedStack({
    port: 0,
    dataDir,
    createDemo: false,
    ...trusted,
  });
  const { url, adminToken } = stack;
  const create = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  for (const tenant of ['demo', 'to-be-deleted']) await create('/v1/tenants', { tenant });
  const created = await create('/v1/tenants/demo/tokens', { scope: 'write' });
  const { token: writeToken } = z.object({ token: z.string() }).parse(created);
  const [repo, repoToDelete, filesRepo] = ['art', 'to-delete', 'media'];
  await create('/v1/tenants/demo/repos', { repo: filesRepo, kind: 'files' });
  const oid = await push({ url, token: writeToken, repo }, 'an object');
  await push({ url, token: writeToken, repo: repoToDelete }, 'an object');
  return {
    fixture: { url, adminToken, writeToken, tenant: 'demo', repo, repoToDelete, filesRepo, oid },
    close: async () => {
      await stack.close();
      await gitHost.close();
    },
  };
}
