import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { parseJson } from '../lambda/core/rules/text.ts';
import {
  errorCode,
  isRunningElsewhere,
  notedProcessIn,
  readIfThere,
  thisProcess,
  unfinishedSuffix,
} from '../local/system/durable-file.ts';
import { CliError } from './errors.ts';

/** The owner of a lock shows so often that it lives. */
const beatMs = 10_000;
/** A lock of another machine, whose processes cannot be seen from here, is stale after this time without a sign. */
const silentMaxMs = 60_000;
/** Stale locks that are taken away. */
const triesMax = 5;

/**
 * Locks a file for this process, by another one beside it, and removes what a killed process has left half written.
 * The lock of a process that was killed is replaced at once on the same machine, and on another one after a minute.
 *
 * @param doing what its holder does with it, for whoever finds it locked.
 * @returns what unlocks it.
 * @throws {CliError} when another process holds it.
 */
export async function lockFile(file: string, doing: string): Promise<() => Promise<void>> {
  const lockPath = `${file}.lock`;
  const own = `${JSON.stringify({ ...thisProcess(), host: hostname(), id: randomUUID() })}\n`;
  let holder: string | undefined;
  for (let tries = 0; tries < triesMax; tries += 1) {
    if (await create(lockPath, own)) {
      const release = keep(lockPath, own);
      await removeUnfinished(file).catch(async (error: unknown) => {
        await release();
        throw error;
      });
      return release;
    }
    const found = await readIfThere(lockPath);
    if (found === undefined) continue;
    holder = await holderOf(lockPath, found);
    if (holder !== undefined) break;
    await takeAway(lockPath, found);
  }
  throw new CliError(`${file} is in use by ${holder ?? 'another process'}, which ${doing}.`, {
    hint: 'Wait for it, or stop it with Ctrl-C: it saves its progress.',
  });
}

/** With its content in one step: a link fails if the name exists. */
async function create(lockPath: string, text: string): Promise<boolean> {
  const besidePath = `${lockPath}.${randomUUID()}${unfinishedSuffix}`;
  await writeFile(besidePath, text, { mode: 0o600 });
  try {
    await link(besidePath, lockPath);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    // Some file systems know no links.
    return await writeFile(lockPath, text, { flag: 'wx', mode: 0o600 }).then(
      () => true,
      (failure: unknown) => {
        if (errorCode(failure) === 'EEXIST') return false;
        throw failure;
      },
    );
  } finally {
    await rm(besidePath, { force: true });
  }
}

function keep(lockPath: string, own: string): () => Promise<void> {
  const beat = setInterval(() => {
    const now = new Date();
    utimes(lockPath, now, now).catch(() => {});
  }, beatMs);
  beat.unref();
  return async () => {
    clearInterval(beat);
    if ((await readIfThere(lockPath)) === own) await rm(lockPath, { force: true });
  };
}

/** Who holds a lock; undefined if nobody does any more. */
async function holderOf(lockPath: string, text: string): Promise<string | undefined> {
  const value = parseJson(text);
  const noted = notedProcessIn(value);
  const host = typeof value === 'object' && value !== null && 'host' in value ? value.host : undefined;
  if (noted === undefined) return undefined;
  if (host === hostname()) return isRunningElsewhere(noted) ? `process ${noted.pid}` : undefined;
  const silentMs = Date.now() - ((await stat(lockPath).catch(() => undefined))?.mtimeMs ?? 0);
  return silentMs < silentMaxMs ? `process ${noted.pid} on ${host}` : undefined;
}

/** Removes a stale lock, but not one that somebody else has put in its place meanwhile. */
async function takeAway(lockPath: string, stale: string): Promise<void> {
  const aside = `${lockPath}.${randomUUID()}`;
  try {
    await rename(lockPath, aside);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== stale) await link(aside, lockPath).catch(() => {});
  await rm(aside, { force: true });
}

/** Nobody else writes, because the file is locked. */
async function removeUnfinished(file: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder))
    if (name.startsWith(`${path.basename(file)}.`) && name.endsWith(unfinishedSuffix))
      await rm(path.join(folder, name), { force: true });
}
