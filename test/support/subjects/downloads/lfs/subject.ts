import {
  anonymousLimitReached,
  objectNotUpstream,
  publicLimitReached,
} from '../../../../../lambda/subjects/downloads/lfs/lfs-messages.ts';
import { copyMessage } from '../../../../../lambda/subjects/downloads/lfs/messages.ts';
import type { TestedSubject } from '../../../subject.ts';

const resetsAtMs = Date.parse('2026-11-26T19:30:00Z');

export const copies = {
  folder: 'downloads/lfs',
  lfsMessages: [
    publicLimitReached({
      tenant: 'acme',
      repo: 'game',
      lfsUrl: 'https://lfs.example.com/acme/game/info/lfs',
      offeredBytes: 1.72 * 1024 ** 2,
      limitBytes: 1.91 * 1024 ** 2,
      askedBytes: 600_000,
      resetsAtMs,
    }),
    anonymousLimitReached({ tenant: 'acme', resetsAtMs }),
    ...(['absent', 'rejected', 'limited', 'unavailable'] as const).map((why) =>
      objectNotUpstream({ host: 'github', why }),
    ),
  ],
  functions: {
    copyObject: {
      timeoutSeconds: 900,
      memoryMb: 512,
      variables: ['TABLE', 'COPY_QUEUE_URL'],
      writes: ['copy-items'],
    },
  },
  maps: {
    'lambda/subjects/downloads/lfs/messages.ts: to':
      'header fields: a name with _ at both ends is none of LFS',
  },
  messages: { copies: copyMessage },
  variables: { lfsBatch: ['COPY_QUEUE_URL'] },
} satisfies TestedSubject;
