import { Child } from '../child/child.ts';
import type { OurServerProcess } from './our-server-process.ts';
import type { ServerKind } from './server.ts';
import { tenant } from './world.ts';

/** This project's API: the deployed handlers, with a table in the same process. */
export const ours: ServerKind = {
  name: 'ours',
  lfsPath: (repo) => `/${tenant}/${repo}/info/lfs`,
  isPeer: false,
  settles: true,
  start: async (place) => {
    const child: OurServerProcess = await Child.fork(new URL('our-server-process.ts', import.meta.url));
    const { port, token } = await child.call('start', place);
    return {
      pid: child.pid,
      port,
      token,
      takeQueueSends: () => child.call('takeQueueSends'),
      settle: () => child.call('settle'),
      stop: () => child.end(),
    };
  },
};
