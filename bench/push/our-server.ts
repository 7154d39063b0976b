import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Child } from '../child/child.ts';
import type { ourApi } from './our-api.ts';
import type { RunningServer, ServerKind, ServerPlace } from './server.ts';
import { tenant } from './world.ts';

type OurServerProcess = Child<ReturnType<typeof ourApi>>;

/** This project's API: the deployed handlers, with a table in the same process. */
export const ours: ServerKind = ourServer({
  name: 'ours',
  start: () => Child.fork(new URL('our-server-process.ts', import.meta.url)),
});

/** The same of an older checkout. */
export function olderServer({ name, checkout }: { name: string; checkout: string }): ServerKind {
  const file = fileURLToPath(new URL('older-server-process.ts', import.meta.url));
  const execArgv = ['--import', 'tsx', '--no-warnings'];
  return ourServer({ name, start: () => Child.of(fork(file, [checkout], { execArgv })) });
}

function ourServer({ name, start }: { name: string; start: () => Promise<OurServerProcess> }): ServerKind {
  return {
    name,
    lfsPath: (repo) => `/${tenant}/${repo}/info/lfs`,
    isPeer: false,
    knowsStored: true,
    settles: true,
    start: async (place) => running(await start(), place),
  };
}

async function running(child: OurServerProcess, { storeUrl, folder }: ServerPlace): Promise<RunningServer> {
  const { port, token } = await child.call('start', { storeUrl, folder });
  return {
    pid: child.pid,
    port,
    token,
    takeQueueSends: () => child.call('takeQueueSends'),
    settle: () => child.call('settle'),
    stop: () => child.end(),
  };
}
