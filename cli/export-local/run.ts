import type { FileHandle } from 'node:fs/promises';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import { distinctObjects, type StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { objectKey } from '../../lambda/domain/names.ts';
import { objectPageSchema } from '../../lambda/http/management/objects/schemas.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { type Interrupt, listenForInterrupt } from '../export/interrupt.ts';
import type { NamedObject } from '../export/objects-file.ts';
import { TransferError, TransferProgress } from '../export/transfer.ts';
import { eachPage, pageSizeMax } from '../list-pages.ts';
import { formatCount, formatObjects } from '../render.ts';
import { WaitLine } from '../wait-line.ts';
import {
  checkRoom,
  copyBytes,
  explainDiskError,
  layoutOf,
  openArchive,
  startByteOf,
  writeLiterals,
} from './archive.ts';
import { checkMayDownload, fetchAll } from './fetch.ts';
import { DoneList, type ExportState, type ExportWish, Workspace } from './workspace.ts';

/** As many as the memory of one process takes with ease, and as an export on the server may have. */
const objectsMax = 2_000_000;
/** Broken objects that an error names. */
const namedMax = 3;

export interface LocalExport {
  readonly file: string;
  readonly sizeBytes: number;
  readonly state: ExportState;
}

/** What is to be exported. */
interface Wanted {
  readonly wish: ExportWish;
  /** undefined: all objects. */
  readonly wanted: readonly NamedObject[] | undefined;
}

interface Running {
  readonly client: ApiClient;
  readonly context: CliContext;
  /** How far it is. */
  readonly line: WaitLine;
  readonly workspace: Workspace;
  readonly stop: AbortSignal;
  readonly sleep: Interrupt['sleep'];
  readonly nowMs: () => number;
}

/**
 * Makes an archive on this machine's disk. An export that was stopped or killed goes on with what is complete.
 *
 * @param input.isFresh forget what an earlier call has fetched. @param input.goOn how to go on, for a person.
 * @throws {CliError}
 */
export async function exportLocally(
  { client, context }: { client: ApiClient; context: CliContext },
  input: Wanted & { file: string; isFresh: boolean; goOn: string },
): Promise<LocalExport> {
  const line = new WaitLine(context, { isQuiet: false });
  const { signal: stop, sleep, release } = listenForInterrupt(context);
  try {
    const workspace = await Workspace.open(input.file);
    try {
      const { nowMs } = context;
      return await run({ client, context, line, workspace, stop, sleep, nowMs }, input);
    } finally {
      await workspace.close();
    }
  } catch (error) {
    line.clear();
    if (stop.aborted)
      throw new CliError('Stopped.', { hint: input.goOn, failure: 'interrupted', cause: error });
    if (!(error instanceof TransferError)) throw explainDiskError(error, input.file);
    throw new CliError(`The export is not complete. ${error.message.replace(/\.?$/, '.')}`, {
      hint: input.goOn,
      cause: error,
    });
  } finally {
    release();
  }
}

async function run(running: Running, input: Wanted & { isFresh: boolean }): Promise<LocalExport> {
  const { context, workspace, line } = running;
  const { wish } = input;
  if (input.isFresh) await workspace.clear();
  const found = await workspace.read(wish);
  await checkMayDownload(running, wish);
  const state = found?.state ?? (await begin(running, input));
  const id = found?.id ?? (await workspace.write(state));
  const layout = layoutOf(state);
  const { file: archive, hadSize } = await openArchive(workspace.partial, layout.sizeBytes);
  try {
    const unwritten = new AbortController();
    const { list, done } = await DoneList.open(workspace.done, {
      id,
      archive,
      objects: state.objects,
      isVoid: !hadSize,
      onFailure: (error) => unwritten.abort(error),
    });
    if (found)
      context.err(
        `Going on with the export of ${new Date(state.createdAtMs).toISOString()}: ` +
          `${formatCount(done.size)} of ${formatObjects(state.objects.length)} are there.\n`,
      );
    const stop = AbortSignal.any([running.stop, unwritten.signal]);
    const gone = await fetchLeft({ ...running, stop }, { archive, layout, list, done, state });
    line.clear();
    if (gone.size > 0) return await finishWithout(running, { archive, layout, gone, state });
    await finish(workspace, { name: workspace.partial, archive, layout });
    return { file: workspace.file, sizeBytes: layout.sizeBytes, state };
  } finally {
    await archive.close();
  }
}

/** Lists what an export is to have. @throws {CliError} */
async function begin(
  { client, context, line, stop }: Running,
  { wish, wanted }: Wanted,
): Promise<ExportState> {
  const { tenant, repo } = wish;
  const createdAtMs = context.nowMs();
  const names = wanted && new Map(wanted.map(({ oid, name }) => [oid, name]));
  const listed: StoredObject[] = [];
  const pages = eachPage(client, {
    path: `/v1/tenants/${tenant}/objects`,
    ...(repo !== null && { filter: { repo } }),
    shape: objectPageSchema,
    items: 'objects',
    options: { pageSize: pageSizeMax },
  });
  for await (const { body } of pages) {
    stop.throwIfAborted();
    for (const object of body.objects) {
      const { oid, sizeBytes } = object;
      if (names && !names.has(oid)) continue;
      const name = names?.get(oid);
      const key = objectKey({ tenant, repo: object.repo, oid });
      listed.push({ oid, sizeBytes, etag: '', key, ...(name !== undefined && { name }) });
    }
    if (listed.length > objectsMax)
      throw new CliError(`There are more than ${formatCount(objectsMax)} objects.`, {
        hint: 'Export the repos one by one, with --repo.',
      });
    if (line.inPlace) line.show(`listing: ${formatCount(listed.length)} objects`);
  }
  const { objects, conflicts } = distinctObjects(listed);
  const found = new Set(objects.map(({ oid }) => oid));
  const missing = (wanted ?? [])
    .filter(({ oid }) => !found.has(oid))
    .map(({ oid }) => ({ oid, sizeBytes: null }));
  line.clear();
  if (objects.length === 0)
    throw new CliError(
      `${repo === null ? tenant : `${tenant}/${repo}`} stores ${wanted ? 'none of these objects' : 'nothing'}.`,
      { hint: `See what there is with \`lfs-quota object list ${tenant}\`.` },
    );
  if (conflicts.length > 0)
    context.err(
      `${formatObjects(conflicts.length)} left out: another repo has the oid with another size, so one of them is broken.\n`,
    );
  return { wish, createdAtMs, missing, objects };
}

/** @returns those that are gone. @throws {CliError} if others are broken. */
async function fetchLeft(
  running: Running,
  input: {
    archive: FileHandle;
    layout: Layout;
    list: DoneList;
    done: ReadonlySet<number>;
    state: ExportState;
  },
): Promise<ReadonlySet<number>> {
  const { context, line, stop, workspace } = running;
  const { archive, layout, list, done } = input;
  const { objects, wish } = input.state;
  const gone = new Set<number>();
  const broken: string[] = [];
  const progress = new TransferProgress(context, line);
  const totalBytes = bytesOf(objects);
  let bytes = bytesOf(objects.filter((_, index) => done.has(index)));
  let count = done.size;
  const more = () => `${formatCount(count)} of ${formatCount(objects.length)} objects`;
  const onBytes = (arrived: number) => {
    bytes += arrived;
    progress.show({ bytes, totalBytes }, more);
  };
  try {
    await checkRoom(workspace.partial, layout.sizeBytes - bytes);
    await fetchAll(
      { ...running, archive, onBytes },
      {
        tenant: wish.tenant,
        layout,
        pending: [...objects.keys()].filter((index) => !done.has(index)),
        onFetched: (index, fetched) => {
          if (fetched.kind === 'gone') gone.add(index);
          else if (fetched.kind === 'broken') broken.push(`${objects[index]?.oid}: ${fetched.message}`);
          else list.add(index);
          count += 1;
        },
      },
    );
  } finally {
    await list.close();
  }
  // The last lines may have failed to be written.
  stop.throwIfAborted();
  if (broken.length === 0) return gone;
  const others = broken.length > namedMax ? `\n… and ${formatCount(broken.length - namedMax)} more` : '';
  throw new CliError(
    `${formatObjects(broken.length)} cannot be exported. The others are there.\n` +
      `${broken.slice(0, namedMax).join('\n')}${others}`,
    {
      hint: 'Push the right bytes once more after `lfs-quota object delete`, or export without them: name the others in --objects FILE.',
    },
  );
}

function bytesOf(objects: readonly StoredObject[]): number {
  return objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

async function finish(
  workspace: Workspace,
  { name, archive, layout }: { name: string; archive: FileHandle; layout: Layout },
): Promise<void> {
  await writeLiterals(archive, layout);
  await archive.sync();
  await workspace.finish(name);
}

/**
 * Without objects that are gone everything lies elsewhere, so the others are copied to a second archive. After a kill
 * the first one is still there, the same objects are found to be gone, and the copy begins anew.
 */
async function finishWithout(
  running: Running,
  input: { archive: FileHandle; layout: Layout; gone: ReadonlySet<number>; state: ExportState },
): Promise<LocalExport> {
  const { workspace, stop, line } = running;
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
      const startByte = startByteOf(layout, place);
      const percent = ((100 * startByte) / layout.sizeBytes).toFixed(1);
      if (line.inPlace) line.show(`leaving out what is gone: ${percent} %`);
      await copyBytes(from, { file: next, startByte }, sizeBytes);
      place += 1;
    }
    await finish(workspace, { name: workspace.next, archive: next, layout });
  } finally {
    await next.close();
  }
  return { file: workspace.file, sizeBytes: layout.sizeBytes, state: after };
}
