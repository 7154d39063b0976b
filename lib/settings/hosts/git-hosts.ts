import { z } from 'zod';
import { gitHostIdPattern } from '../../../lambda/frame/access/rules/host-user.ts';
import {
  gitHostKinds,
  gitHostsMax,
  gitHostsToJson,
  isGitHostUrl,
  signInHostsOf,
} from '../../../lambda/subjects/hosts/rules/git-hosts.ts';
import { secretArn } from '../secret-arn.ts';

const gitHost = z.strictObject({
  id: z
    .string()
    .regex(gitHostIdPattern, 'must be 1 to 20 of a-z, 0-9 and -, beginning and ending with a letter or digit')
    .describe(
      'Its name for tenants, such as github. Never reuse it for another host: users are identified by it.',
    ),
  kind: z.enum(gitHostKinds).describe('Its API. Use gitea for Forgejo.'),
  url: z
    .string()
    .refine(
      (url) => isGitHostUrl(url),
      'must be a URL that starts with https, without a trailing slash or query',
    )
    .describe(
      'GitHub: URL of its API, such as https://api.github.com or https://github.example.com/api/v3. Others: URL of the host.',
    ),
  signIn: z
    .strictObject({
      clientId: z
        .string()
        .regex(/^[\x21-\x7e]{1,200}$/, 'must be the client ID of your app')
        .describe('The client ID of your app there.'),
      clientSecretArn: secretArn.describe('Secret with the client secret of your app, as text.'),
    })
    .optional()
    .describe('Lets its users sign in to the console: docs/deploy.md#sign-in-with-a-git-host.'),
});

const setting = z
  .array(gitHost)
  .max(gitHostsMax)
  .refine((hosts) => new Set(hosts.map(({ id }) => id)).size === hosts.length, 'has an id twice')
  .default([])
  .describe(
    'Users of these Git hosts can log in with their tokens. Example: [{"id": "github", "kind": "github", "url": "https://api.github.com"}]',
  );

export const gitHosts = {
  setting,
  toJson: gitHostsToJson,
  secretsOf: (hosts: z.output<typeof setting>) =>
    signInHostsOf(hosts).map(({ signIn }) => signIn.clientSecretArn),
};
