import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  type GitHost,
  gitHostIdPattern,
  gitHostKinds,
  gitHostsMax,
  isGitHostUrl,
} from '../lambda/accounts/rules/git-hosts.ts';
import { type IdentityIssuer, issuerKinds, publicIssuers } from '../lambda/accounts/rules/identities.ts';
import { redact } from '../lambda/aws/invocation-log.ts';
import type { Invocation, Log } from '../lambda/rules/clock-and-log.ts';
import type { Settings } from '../lambda/rules/settings.ts';
import { type AdoptedRepo, adoptedReposFromJson } from '../lambda/store/rules/adopted-repos.ts';
import { StartupError } from './system/durable-file.ts';

interface TerminalLogOptions {
  /** `text` for people, `json` for machines. Both have one line for each entry. */
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

type Level = 'info' | 'warn' | 'error';

/** The embedded stack's log. */
export function createTerminalLog(options: TerminalLogOptions): Log {
  const log = (level: Level, message: string, fields: Record<string, unknown> = {}) => {
    const time = options.now().toISOString();
    const entry = options.format === 'json' ? jsonLine : textLine;
    options.write(entry({ level, time, message, fields: redact(fields) }));
  };
  return {
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
  };
}

interface Entry {
  readonly level: Level;
  readonly time: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

function jsonLine({ level, time, message, fields }: Entry): string {
  return `${JSON.stringify({ level, time, message, ...fields })}\n`;
}

/** Refers to Lambda's own log lines, which do not exist here. */
const functionRequestId = 'functionRequestId' satisfies keyof Invocation;

/** `05:00:00 warn message key=value …`. The level `info` is left out. */
function textLine({ level, time, message, fields }: Entry): string {
  const pairs = Object.entries(fields)
    .filter(([key]) => key !== functionRequestId)
    .map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time.slice(11, 19), ...(level === 'info' ? [] : [level]), message, ...pairs].join(' ')}\n`;
}

/** Simple text as it is, anything else as JSON, so that no value can break the line or control the terminal. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return JSON.stringify(value) ?? 'undefined';
}

export type Flags =
  | {
      readonly kind: 'start';
      readonly port: number;
      readonly dataDir: string;
      readonly issuers: readonly IdentityIssuer[];
      /** A JSON file with the adopted repos. */
      readonly adoptFile: string | undefined;
      readonly gitHosts: readonly GitHost[];
      readonly allowsLoopbackWebhooks: boolean;
      /** Settings that differ from those of the embedded stack. */
      readonly settings: Partial<Settings>;
    }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string };

const portMax = 65_535;

/** Reads the command line of `npm start`. */
export function readFlags(args: readonly string[]): Flags {
  const parsed = parse(args);
  if (typeof parsed === 'string') return { kind: 'wrong', message: parsed };
  if (parsed.help === true) return { kind: 'help' };
  const { port: portText = '8787', data: dataDir = '.lfs-quota' } = parsed;
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : Number.NaN;
  if (!(port <= portMax)) {
    return { kind: 'wrong', message: `--port takes a number from 0 to ${portMax}, not '${portText}'.` };
  }
  if (dataDir.trim() === '') return { kind: 'wrong', message: '--data takes a folder, not an empty name.' };
  const issuers = (parsed.issuer ?? []).map(readIssuer);
  if (issuers.includes(undefined)) {
    const example = 'gitlab,https://git.example.com,https://git.example.com/oauth/discovery/keys';
    return { kind: 'wrong', message: `--issuer takes KIND,ISSUER,JWKS such as ${example}.` };
  }
  const gitHosts = readGitHosts(parsed['git-host'] ?? []);
  if (typeof gitHosts === 'string') return { kind: 'wrong', message: gitHosts };
  const { 'gc-watch': watch } = parsed;
  if (watch !== undefined && !/^\d{1,5}$/.test(watch))
    return { kind: 'wrong', message: `--gc-watch takes a number of minutes, not '${watch}'.` };
  const settings = watch === undefined ? {} : { gcWatchMs: Number(watch) * 60_000 };
  const given = issuers.filter((issuer) => issuer !== undefined);
  const allowsLoopbackWebhooks = parsed['loopback-webhooks'] === true;
  return {
    kind: 'start',
    port,
    dataDir,
    issuers: given.length > 0 ? given : publicIssuers,
    adoptFile: parsed.adopt,
    gitHosts,
    settings,
    allowsLoopbackWebhooks,
  };
}

function readIssuer(text: string): IdentityIssuer | undefined {
  const [name, issuer = '', jwksUri = '', ...rest] = text.split(',');
  const kind = issuerKinds.find((each) => each === name);
  const areAddresses = [issuer, jwksUri].every(
    (address) => /^https?:/.test(address) && URL.canParse(address),
  );
  return kind && areAddresses && rest.length === 0 ? { kind, issuer, jwksUri } : undefined;
}

/** @returns what is wrong, if something is. */
function readGitHosts(texts: readonly string[]): readonly GitHost[] | string {
  const hosts: GitHost[] = [];
  for (const text of texts) {
    const [id = '', name, url = '', clientId, clientSecretArn, ...rest] = text.split(',');
    const kind = gitHostKinds.find((each) => each === name);
    const isHost =
      gitHostIdPattern.test(id) && isGitHostUrl(url, { allowsLoopback: true }) && rest.length === 0;
    const isApp = clientId === undefined || (clientId !== '' && clientSecretArn);
    if (!kind || !isHost || !isApp)
      return '--git-host takes ID,KIND,URL such as gitea,gitea,https://gitea.example.com; http only for this machine. To let users sign in, add ,CLIENT_ID,SECRET_FILE.';
    if (hosts.some((host) => host.id === id)) return `--git-host names ${id} twice.`;
    hosts.push({
      id,
      kind,
      url,
      ...(clientId && clientSecretArn && { signIn: { clientId, clientSecretArn } }),
    });
  }
  return hosts.length > gitHostsMax ? `--git-host can be given ${gitHostsMax} times at most.` : hosts;
}

function parse(args: readonly string[]) {
  try {
    const options = {
      port: { type: 'string' },
      data: { type: 'string' },
      issuer: { type: 'string', multiple: true },
      'git-host': { type: 'string', multiple: true },
      'loopback-webhooks': { type: 'boolean' },
      adopt: { type: 'string' },
      'gc-watch': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    } as const;
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong. The others explain positional arguments, which there are none of.
    return `${error.message.split(/\.?(\s|$)(?=[A-Z]|$)/)[0]}.`;
  }
}

/** @throws {StartupError} that says what is wrong with the file. */
export function readAdoptedRepos(path: string): readonly AdoptedRepo[] {
  try {
    return adoptedReposFromJson(readFileSync(path, 'utf8'));
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`Can't use --adopt ${path}: ${what}`, { cause });
  }
}
