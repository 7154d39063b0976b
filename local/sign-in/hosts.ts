import { readFile } from 'node:fs/promises';
import type { Clock } from '../../lambda/core/rules/clock-and-log.ts';
import { createSignInHosts } from '../../lambda/subjects/sign-in/sign-in-hosts.ts';
import type { SubjectPorts } from '../subject-ports.ts';

/** The secret of each app is in a file. */
export const signIn = {
  create: ({ clock: { nowMs } }: { clock: Clock }) => ({
    signInHosts: createSignInHosts({
      nowMs,
      secretOf: async (host) => (await readFile(host.signIn.clientSecretArn, 'utf8')).trim(),
    }),
  }),
} as const satisfies SubjectPorts;
