import type { BodyOf } from '../../api-client.ts';
import { least } from '../../columns.ts';
import {
  type CliSubject,
  flag,
  ofRepo,
  operand,
  option,
  type RepoBody,
  routeCommand,
  tenantOperand,
} from '../../command.ts';
import { change, nameOf } from '../../commands/repo.ts';
import { parseLimitOption } from '../../options.ts';
import { formatLimit } from '../../render.ts';

const readThroughFlag = flag('--read-through', "download from there what isn't here yet");

/** `repo link|unlink`, `tenant link|show-link|unlink`. */
export const hosts: CliSubject = {
  repo: {
    70: routeCommand({
      ...change,
      name: 'link',
      description: 'Link a repo to a repository on a git host: its users can log in',
      operands: {
        ...ofRepo,
        host: operand('<host>', 'id of a configured git host, such as github'),
        name: operand('<name>', 'full name of the repository there, such as acme/game'),
      },
      options: {
        repoId: option('--repo-id <number>', 'its number there (default: stored at first use)'),
        readThrough: readThroughFlag,
      },
      body: ({ operands: { host, name: repo }, options: { repoId, readThrough } }) => ({
        gitHost: { host, repo, repoId, readThrough },
      }),
      print: (body, { operands }) => linkedText(nameOf(operands), body),
    }),
    75: routeCommand({
      ...change,
      name: 'unlink',
      description: 'Unlink a repo from its git host',
      body: () => ({ gitHost: null }),
      print: (body, { operands }) => linkedText(nameOf(operands), body),
    }),
  },
  tenant: {
    70: routeCommand({
      name: 'link',
      description: 'Link all repos to an organization on a git host: its users can log in',
      route: 'linkTenant',
      operands: {
        tenant: tenantOperand,
        host: operand('<host>', 'id of a configured git host, such as github'),
        organization: operand('<organization>', 'its name there, such as acme'),
      },
      options: {
        public: option(
          '--public <size>',
          'repos that are public there are public here, up to this a month each',
          parseLimitOption,
        ),
        readThrough: readThroughFlag,
      },
      body: ({ operands: { host, organization }, options }) => ({
        host,
        organization,
        readThrough: options.readThrough,
        publicRead: options.public && { monthlyLimitBytes: options.public.bytes },
      }),
      print: linkText,
    }),
    75: routeCommand({
      name: 'show-link',
      description: 'Show which organization a tenant is linked to',
      route: 'getTenantLink',
      operands: { tenant: tenantOperand },
      print: linkText,
    }),
    80: routeCommand({
      name: 'unlink',
      description: 'Unlink a tenant from its organization: its users are logged out',
      route: 'unlinkTenant',
      operands: { tenant: tenantOperand },
      print: (_, { operands: { tenant } }) =>
        `${tenant} isn't linked any more. Users need a token, or a repo with its own link.\n`,
    }),
  },
  repoParts: [
    {
      isOf: ({ gitHost }) => gitHost !== undefined,
      column: ['git host', ({ gitHost }) => (gitHost ? `${gitHost.host} ${gitHost.repo}` : '-'), least(16)],
    },
  ],
  examples: {
    'tenant link': [
      ['lfs-quota tenant link acme github acme', 'acme/game here is acme/game there, and so on'],
      ['lfs-quota tenant link acme github acme --public 100GiB', 'what is public there is public here'],
    ],
    'tenant show-link': [['lfs-quota tenant show-link acme']],
    'tenant unlink': [['lfs-quota tenant unlink acme']],
    'repo link': [
      ['lfs-quota repo link acme game github acme/game', 'users who can push there can push here'],
      ['lfs-quota repo link acme game github acme/game --repo-id 123456789'],
    ],
    'repo unlink': [['lfs-quota repo unlink acme game']],
  },
};

function linkedText(path: string, { gitHost }: RepoBody): string {
  if (!gitHost) return `${path} isn't linked to a git host any more. Users need a token of the tenant.\n`;
  const number = gitHost.repoId === null ? '' : ` (number ${gitHost.repoId})`;
  return `${path} is linked to ${gitHost.repo}${number} on ${gitHost.host}: its users can pull and push here as they can there, with their own tokens.\n${readThroughText(gitHost)}`;
}

function linkText(link: BodyOf<'linkTenant'>): string {
  const { tenant, host, organization, publicRead } = link;
  const place = `${organization}/REPO on ${host}`;
  const open = publicRead
    ? `public here. Monthly download limit of each: ${formatLimit(publicRead.monthlyLimitBytes)}`
    : 'private here';
  return `Each repo ${tenant}/REPO is ${place}. Its users can log in with their own tokens.\nRepos that are public there are ${open}.\n${readThroughText(link)}`;
}

/** @param link of a repo or a tenant. */
function readThroughText({ readThrough }: { readThrough?: true | undefined }): string {
  return readThrough ? "What's missing here is downloaded from there, with the user's token.\n" : '';
}
