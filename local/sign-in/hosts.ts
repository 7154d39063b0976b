import { readFile } from 'node:fs/promises';
import type { Clock } from '../../lambda/core/rules/clock-and-log.ts';
import { createSignInHosts } from '../../lambda/subjects/sign-in/sign-in-hosts.ts';

/** The secret of each app is in a file. */
export const signInPorts = ({ clock: { nowMs } }: { clock: Clock }) => ({
  signInHosts: createSignInHosts({
    nowMs,
    secretOf: async ({ signIn }) => (await readFile(signIn.clientSecretArn, 'utf8')).trim(),
  }),
});
