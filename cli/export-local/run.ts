import type { FileHandle } from 'node:fs/promises';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { listenForInterrupt } from '../export/interrupt.ts';
import type { NamedObject } from '../export/objects-file.ts';
import { formatCount, formatObjects } from '../render.ts';
import { checkRoom, explainDiskError } from './disk-errors.ts';
import { DoneList } from './done-list.ts';
import { fetchAll } from './fetch-all.ts';
import { TransferError } from './fetch-object.ts';
import { gather } from './gather.ts';
import { checkMayDownload } from './lfs-batch.ts';
import { layoutOf, startByteOf } from './local-plan.ts';
import type { ExportProgress } from './progress.ts';
import { Retries } from './retries.ts';
import type { ExportState, ExportWish } from './state.ts';
import { copyBytes, writeLiterals } from './tar-file.ts';
import { openArchive, Workspace } from './workspace.ts';

/** Broken objects that an error names. */
const namedMax = 3;

export interface LocalExport {
  readonly file: string;
  readonly sizeBytes: number;
  readonly state: ExportState;
}

interface Surroundings {
  readonly client: ApiClient;
  readonly context: CliContext;
  readonly progress: ExportProgress;
}

interface Running extends Surroundings {
  readonly workspace: Workspace;
  readonly stop: AbortSignal;
  readonly sleep: (durationMs: number) => Promise<void>;
}

/**
 * Makes an archive on this machine's disk. An export that was stopped or killed goes on with what is complete.
 *
 * @param input.isFresh forget what an earlier call has fetched. @param input.goOn how to go on, for a person.
 * @throws {CliError}
 */
export async function exportLocally(
  surroundings: Surroundings,
  input: {
    file: string;
    wish: ExportWish;
    wanted: readonly NamedObject[] | undefined;
    isFresh: boolean;
    goOn: string;
  },
): Promise<LocalExport> {
  const { context, progress } = surroundings;
  const interrupt = listenForInterrupt(context);
  const stop = interrupt.signal;
  const { sleep } = interrupt;
  try {
    const workspace = await Workspace.open(input.file);
    try {
      return await run({ ...surroundings, workspace, stop, sleep }, input);
    } finally {
      await workspace.close();
    }
  } catch (error) {
    progress.clear();
    if (stop.aborted)
      throw new CliError('Stopped.', { hint: input.goOn, failure: 'interrupted', cause: error });
    throw explain(error, input);
  } finally {
    interrupt.release();
  }
}

async function run(
  running: Running,
  input: { file: string; wish: ExportWish; wanted: readonly NamedObject[] | undefined; isFresh: boolean },
): Promise<LocalExport> {
  const { client, context, workspace, progress } = running;
  const { wish } = input;
  if (input.isFresh) await workspace.clear();
  const found = await workspace.read(wish);
  await checkMayDownload({ client, retries: new Retries(running), nowMs: context.nowMs }, wish);
  const state = found?.state ?? (await begin(running, input));
  const id = found?.id ?? (await workspace.write(state));
  const layout = layoutOf(state);
  const { file: archive, hadSize } = await openArchive(workspace.partial, layout.sizeBytes);
  try {
    const unwritten = new AbortController();
    const onFailure = (error: unknown) => unwritten.abort(error);
    const { list, done } = await DoneList.open(workspace.done, {
      id,
      archive,
      objects: state.objects,
      isVoid: !hadSize,
      onFailure,
    });
    if (found) tellFound(running, { state, done: done.size });
    const stop = AbortSignal.any([running.stop, unwritten.signal]);
    const left = await fetchLeft({ ...running, stop }, { archive, layout, list, done, state });
    progress.clear();
    if (left.broken.length > 0) throw brokenError(left.broken);
    const complete = { archive, layout, gone: left.gone };
    return left.gone.size === 0
      ? await finish(running, { ...complete, state })
      : await finishWithout(running, { ...complete, state });
  } finally {
    await archive.close();
  }
}

async function begin(
  { client, context, progress, stop }: Running,
  { wish, wanted }: { wish: ExportWish; wanted: readonly NamedObject[] | undefined },
): Promise<ExportState> {
  const { state, conflicts } = await gather(client, {
    wish,
    wanted,
    nowMs: context.nowMs(),
    stop,
    onPage: (objectCount) => progress.listed(objectCount),
  });
  progress.clear();
  const { tenant, repo } = wish;
  if (state.objects.length === 0)
    throw new CliError(
      `${repo === null ? tenant : `${tenant}/${repo}`} stores ${wanted ? 'none of these objects' : 'nothing'}.`,
      { hint: `See what there is with \`lfs-quota object list ${tenant}\`.` },
    );
  if (conflicts > 0)
    context.err(
      `${formatObjects(conflicts)} left out: another repo has the oid with another size, so one of them is broken.\n`,
    );
  return state;
}

function tellFound({ context }: Running, { state, done }: { state: ExportState; done: number }): void {
  const began = new Date(state.createdAtMs).toISOString();
  context.err(
    `Going on with the export of ${began}: ${formatCount(done)} of ${formatObjects(state.objects.length)} are there.\n`,
  );
}

interface Broken {
  readonly oid: string;
  readonly message: string;
}

async function fetchLeft(
  running: Running,
  input: {
    archive: FileHandle;
    layout: Layout;
    list: DoneList;
    done: ReadonlySet<number>;
    state: ExportState;
  },
): Promise<{ gone: ReadonlySet<number>; broken: readonly Broken[] }> {
  const { client, context, progress, stop, workspace } = running;
  const { archive, layout, list, done, state } = input;
  const { objects, wish } = state;
  const gone = new Set<number>();
  const broken: Broken[] = [];
  const bytesOf = (indices: Iterable<number>) => {
    let bytes = 0;
    for (const index of indices) bytes += objects[index]?.sizeBytes ?? 0;
    return bytes;
  };
  const doneBytes = bytesOf(done);
  const totalBytes = bytesOf(objects.keys());
  try {
    await checkRoom(workspace.partial, layout.sizeBytes - doneBytes);
    progress.begin({ bytes: totalBytes, objects: objects.length }, { bytes: doneBytes, objects: done.size });
    await fetchAll(
      {
        client,
        archive,
        stop,
        retries: new Retries(running),
        nowMs: context.nowMs,
        onBytes: (bytes) => progress.addBytes(bytes),
      },
      {
        tenant: wish.tenant,
        layout,
        pending: [...objects.keys()].filter((index) => !done.has(index)),
        onFetched: (index, fetched) => {
          const { oid = '' } = objects[index] ?? {};
          if (fetched.kind === 'gone') gone.add(index);
          else if (fetched.kind === 'broken') broken.push({ oid, message: fetched.message });
          else list.add(index);
          progress.addObject();
        },
      },
    );
  } finally {
    await list.close();
  }
  // The last lines may have failed to be written.
  stop.throwIfAborted();
  return { gone, broken };
}

function brokenError(broken: readonly Broken[]): CliError {
  const named = broken.slice(0, namedMax).map(({ oid, message }) => `${oid}: ${message}`);
  const more = broken.length > namedMax ? `\n… and ${formatCount(broken.length - namedMax)} more` : '';
  return new CliError(
    `${formatObjects(broken.length)} cannot be exported. The others are there.\n${named.join('\n')}${more}`,
    {
      hint: 'Push the right bytes once more after `lfs-quota object delete`, or export without them: name the others in --objects FILE.',
    },
  );
}

async function finish(
  { workspace }: Running,
  { archive, layout, state }: { archive: FileHandle; layout: Layout; state: ExportState },
): Promise<LocalExport> {
  await writeLiterals(archive, layout);
  await archive.sync();
  await workspace.finish(workspace.partial);
  return { file: workspace.file, sizeBytes: layout.sizeBytes, state };
}

/**
 * Without objects that are gone everything lies elsewhere, so the others are copied to a second archive. After a kill
 * the first one is still there, the same objects are found to be gone, and the copy begins anew.
 */
async function finishWithout(
  running: Running,
  input: { archive: FileHandle; layout: Layout; gone: ReadonlySet<number>; state: ExportState },
): Promise<LocalExport> {
  const { workspace, stop, progress } = running;
  const { archive, layout: before, gone, state } = input;
  const missing = [...gone].sort((a, b) => a - b).flatMap((index) => state.objects[index] ?? []);
  const after: ExportState = {
    ...state,
    objects: state.objects.filter((_, index) => !gone.has(index)),
    missing: [...state.missing, ...missing.map(({ oid, sizeBytes }) => ({ oid, sizeBytes }))],
  };
  const layout = layoutOf(after);
  await checkRoom(workspace.next, layout.sizeBytes);
  const { file: next } = await openArchive(workspace.next, layout.sizeBytes);
  try {
    let place = 0;
    for (const [index, { sizeBytes }] of state.objects.entries()) {
      if (gone.has(index)) continue;
      stop.throwIfAborted();
      const from = { file: archive, startByte: startByteOf(before, index) };
      progress.copied(startByteOf(layout, place) / layout.sizeBytes);
      await copyBytes(from, { file: next, startByte: startByteOf(layout, place) }, sizeBytes);
      place += 1;
    }
    await writeLiterals(next, layout);
    await next.sync();
  } finally {
    await next.close();
  }
  await workspace.finish(workspace.next);
  return { file: workspace.file, sizeBytes: layout.sizeBytes, state: after };
}

function explain(error: unknown, { file, goOn }: { file: string; goOn: string }): unknown {
  if (!(error instanceof TransferError)) return explainDiskError(error, file);
  return new CliError(`The export is not complete. ${error.message.replace(/\.?$/, '.')}`, {
    hint: goOn,
    cause: error,
  });
}
