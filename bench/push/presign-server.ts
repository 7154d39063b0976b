import { Child } from '../child/child.ts';
import type { PresignServerProcess } from './presign-server-process.ts';
import { nothingLater, type ServerKind } from './server.ts';

/** The bound: signed URLs without a quota, and without a look at the store. */
export const presignOnly: ServerKind = {
  name: 'presign-only',
  lfsPath: (repo) => `/${repo}`,
  isPeer: false,
  knowsStored: false,
  settles: false,
  start: async ({ storeUrl }) => {
    const child: PresignServerProcess = await Child.fork(
      new URL('presign-server-process.ts', import.meta.url),
    );
    const port = await child.call('start', { storeUrl });
    return { pid: child.pid, port, token: undefined, ...nothingLater, stop: () => child.end() };
  },
};
