import type { SubjectSpec } from '../../../frame/frame-spec.ts';
import { on, pushes } from '../../../frame/spec.ts';
import type { lfs } from '../../lfs/spec.ts';

export const copies = {
  functions: {
    copyObject: {
      file: 'downloads/lfs/copy-object.ts',
      description:
        'Copies objects from other servers by signed URLs. It reaches the internet, and of the table its own items.',
      timeoutSeconds: 900,
      memoryMb: 512,
      items: [on(['COPY#*'], 'UpdateItem', 'DeleteItem')],
      queues: { copies: ['receive', 'delay'] },
    },
  },
  adds: {
    management: { queues: { copies: ['gauge'] } },
    lfsBatch: {
      routes: ['POST /{tenant}/{repo}/info/lfs/objects/copies'],
      items: [pushes('COPY#*', 'PUBLIC#*')],
      queues: { copies: ['send'] },
    },
  },
  queues: {
    copies: {
      kind: 'Copy',
      workersIn: 'copyWorkers',
      workersDo: 'copy objects from Git hosts',
      onlyWith: 'gitHosts',
      usualWorkers: 10,
      // Its messages have URLs that expire within the hour. Three tries are for what fails. More are only for runs that died.
      attemptsMax: 5,
      lost: "An object of another server couldn't be copied: the function copyObject failed too often.",
    },
  },
} as const satisfies SubjectSpec<keyof typeof lfs.functions>;
