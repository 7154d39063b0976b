import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment } from '../test/support/process.ts';
import { type StartedProcess, startProcess } from './processes.ts';
import { cacheFolder } from './store.ts';

/** Programs of others. docs/measured.md says how they get into the cache. */
export const peerNames = {
  boto3: 'boto3-1.44.8',
  giftless: 'giftless-0.6.2',
  rudolfs: 'rudolfs-0.3.8',
  lfsx: 'lfsx-1.3.2',
} as const;

export const programOf = (name: string, program: string) => join(cacheFolder(), name, 'bin', program);

/** Those of these that are in the cache. The other ones are named. */
export function installed<Peer extends { readonly name: string }>(
  peers: readonly Peer[],
  print: (text: string) => void,
): Peer[] {
  return peers.filter(({ name }) => {
    const folder = join(cacheFolder(), name);
    const isThere = existsSync(folder);
    if (!isThere) print(`${name} is left out: install it into ${folder}.`);
    return isThere;
  });
}

interface PeerPlace {
  /** An empty one. */
  readonly folder: string;
  /** More than a program needs anyway. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @param transfer how its only transfer adapter is made. */
export function startGiftless(transfer: object, { folder, env }: PeerPlace): Promise<StartedProcess> {
  const config = join(folder, 'giftless.yaml');
  const settings = {
    AUTH_PROVIDERS: ['giftless.auth.allow_anon:read_write'],
    LEGACY_ENDPOINTS: false,
    TRANSFER_ADAPTERS: { basic: transfer },
  };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settings));
  // As much at a time as its own container image, which has two threads in each of two processes. With threads, the
  // first requests race to set up permissions, and some are refused.
  const workers = ['--worker-class', 'gthread', '--workers', '4', '--threads', '1', '--keep-alive', '75'];
  return startProcess({
    command: programOf(peerNames.giftless, 'python'),
    args: (port) => [
      ...['-m', 'gunicorn', ...workers, '--bind', `127.0.0.1:${port}`],
      'giftless.wsgi_entrypoint:app',
    ],
    env: { ...plainEnvironment(), ...env, GIFTLESS_CONFIG_FILE: config },
    folder,
  });
}

/** @param store its command and options. */
export function startRudolfs(store: readonly string[], { folder, env }: PeerPlace): Promise<StartedProcess> {
  return startProcess({
    command: programOf(peerNames.rudolfs, 'rudolfs'),
    args: (port) => ['--host', `127.0.0.1:${port}`, ...store],
    env: { ...plainEnvironment(), ...env, RUDOLFS_LOG: 'warn' },
    folder,
  });
}

/** On its own disk, without its permissions. @param quotaBytes of each repo. */
export function startLfsx(quotaBytes: number, { folder }: PeerPlace): Promise<StartedProcess> {
  const settings = {
    LFSX_STORAGE_ROOT: join(folder, 'objects'),
    LFSX_AUTH: 'disabled',
    LFSX_REPO_QUOTA: String(quotaBytes),
    RUST_LOG: 'warn',
  };
  return startProcess({
    // It takes its port from a variable alone.
    command: 'env',
    args: (port) => [`LFSX_BIND=127.0.0.1:${port}`, programOf(peerNames.lfsx, 'lfsx-server')],
    env: { ...plainEnvironment(), ...settings },
    folder,
  });
}
