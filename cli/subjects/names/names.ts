import { createGzip } from 'node:zlib';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import { headLine, nameLine, namesBytesMax } from '../../../lambda/subjects/names/rules/names-file.ts';
import { nameOrders } from '../../../lambda/subjects/names/rules/search.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { least, tableOf } from '../../columns.ts';
import { actionCommand, type CliSubject, choice, flag, ofRepo, operand, option } from '../../command.ts';
import { nameOf } from '../../commands/repo.ts';
import { CliError, UsageError } from '../../errors.ts';
import { fetchOrFail } from '../../fetch-signed.ts';
import { readVersions, type Versions } from '../../git/keep-rule.ts';
import { readClone } from '../../git/read-clone.ts';
import type { RepoPlace } from '../../lfs-batch.ts';
import { objectPages, pageSizeMax, printList, withListOptions } from '../../list-pages.ts';
import { collect } from '../../options.ts';
import { ofPlace, placeOf } from '../../place.ts';
import { formatAge, formatCount, formatObjects, formatSum } from '../../render.ts';
import { type View, viewOf } from '../../terminal.ts';

/** The last names aren't shown once a URL for others was signed. */
const storeHint = 'The repo has no names until you run it again.';

interface Named extends Awaited<ReturnType<typeof readClone>> {
  readonly versions: Versions;
}

interface NamesFile {
  readonly bytes: Buffer;
  readonly objectCount: number;
  /** Of these, how many have a path. */
  readonly namedCount: number;
}

/**
 * Of each object that is stored what the clone calls it, as its server takes it.
 *
 * @param input.named undefined: nothing. @throws {CliError} if they are too many.
 */
async function makeFile(
  client: ApiClient,
  { place, named, nowMs }: { place: RepoPlace; named: Named | undefined; nowMs: number },
): Promise<NamesFile> {
  const { refs = [], tips, versions } = named ?? {};
  const commit = refs.find(({ name }) => name === 'HEAD')?.commit;
  const branch = refs
    .find((ref) => ref.name.startsWith('refs/heads/') && ref.commit === commit)
    ?.name.slice(11);
  const [gzip, pieces] = [createGzip(), [] as Buffer[]];
  let [bytes, objectCount, namedCount] = [0, 0, 0];
  gzip.on('data', (piece: Buffer) => {
    bytes += piece.length;
    pieces.push(piece);
  });
  const written = (text: string) => new Promise<void>((resolve) => gzip.write(text, () => resolve()));
  await written(
    headLine({ version: 1, madeAtMs: nowMs, ...(commit && { commit }), ...(branch && { branch }) }),
  );
  for await (const { body } of named ? objectPages(client, place) : []) {
    const lines = body.objects.map(({ oid, sizeBytes }) => {
      const [last, tip] = [versions?.last.get(oid), tips?.objects.get(oid)];
      const path = tip?.path ?? last?.path ?? null;
      objectCount += 1;
      if (path !== null) namedCount += 1;
      const { commit = null, atMs: committedMs = null } = last ?? {};
      return nameLine({ oid, sizeBytes, commit, committedMs, ref: tip?.ref ?? null, path });
    });
    await written(lines.join(''));
    if (bytes > namesBytesMax) throw tooMany();
  }
  await new Promise<void>((resolve) => gzip.on('end', resolve).end());
  if (bytes > namesBytesMax) throw tooMany();
  return { bytes: Buffer.concat(pieces), objectCount, namedCount };
}

const tooMany = () =>
  new CliError(`The names take more than ${formatBytes(namesBytesMax)}, the maximum for a repo.`, {
    hint: 'Its objects are listed by hash: lfs-quota files list',
  });

const namesCommand = actionCommand({
  name: 'names',
  description: 'Send the paths of a clone, to search objects by path or branch',
  operands: ofRepo,
  options: {
    clone: option('--clone <dir>', 'a full clone of the repo (default: .)'),
    remote: option(
      '--remote <name>',
      'remote with refs that the clone must have; repeatable (default: origin)',
      collect,
    ),
    for: choice('--for <who>', 'only set who sees them; managers is the default', ['managers', 'readers']),
    erase: flag('--erase', 'erase them; objects stay'),
  },
  wanted: 'the admin token, or one of the tenant with the scope gc or manage',
  run: async (client, { operands: place, options, context }) => {
    const { clone = '.', remote, for: who, erase, json: isQuiet = false } = options;
    if (who !== undefined && erase) throw new UsageError('Use only one of --for and --erase.');
    const print = (text: string, body: string) =>
      context.out(isQuiet ? `${body}\n` : `${nameOf(place)}: ${text}.\n`);
    if (who !== undefined) {
      const asking = { params: place, body: { forReaders: who === 'readers' } };
      const { text } = await client.ask('changeNames', asking);
      const seers = who === 'readers' ? 'every token of the repo' : 'only tokens with the manage scope';
      return print(`${seers} can see the names`, text);
    }
    const read = erase ? undefined : await readClone(client, context, { clone, remote, isQuiet });
    const named = read && { ...read, versions: await readVersions(clone, read) };
    read?.line.clear();
    const file = await makeFile(client, { place, named, nowMs: context.nowMs() });
    const { bytes, objectCount, namedCount } = file;
    if (!erase && objectCount > 0 && namedCount === 0)
      throw new CliError(`No commit of ${clone} has any of the ${formatObjects(objectCount)}.`, {
        hint: 'Nothing was sent. Pass a clone of this repo: --clone DIR. To remove the names: --erase',
      });
    const body = { bytes: bytes.length, sha256: sha256Hex(bytes) };
    const signed = (await client.ask('signNames', { params: place, body })).body;
    const sending = () =>
      fetchOrFail(signed.url, {
        method: 'PUT',
        headers: signed.headers,
        body: bytes,
        hint: storeHint,
      });
    await (await client.busy.during(() => 'uploading the names', sending)).arrayBuffer();
    print(
      erase
        ? 'its names are erased'
        : `${formatCount(namedCount)} of ${formatObjects(objectCount)} have names now`,
      JSON.stringify({ ...place, objectCount, namedCount }),
    );
  },
});

type NamesBody = BodyOf<'listNames'>;

const searchCommand = actionCommand({
  name: 'search',
  description: 'List objects of a Git repo by path, the largest first',
  base: withListOptions,
  operands: { text: operand('[text]', 'what the path contains, or the oid starts with') },
  options: {
    ...ofPlace,
    inUse: flag('--in-use', 'only what a branch or tag has'),
    notInUse: flag('--not-in-use', 'only what no branch and no tag has'),
    sort: choice('--sort <order>', 'by size (default), or newest or oldest commit first', nameOrders),
  },
  wanted: 'the admin token, or one of the tenant with the scope manage',
  run: async (client, { operands: { text: search }, options, context }) => {
    const { inUse, notInUse, sort, json, limit = json ? undefined : shownDefault } = options;
    if (inUse && notInUse) throw new UsageError('Use only one of --in-use and --not-in-use.');
    const query = { search, sort, inUse: inUse ? true : notInUse ? false : undefined };
    const params = await placeOf(client, context, options);
    const list = { route: 'listNames', params: { ...params }, query, items: 'names' } as const;
    const paged = { ...list, options: { pageSize: pageSizeMax, ...options, ...(limit && { limit }) } };
    await printList(context, client, {
      ...paged,
      render: (pages) => namesText(pages, viewOf(context)),
    });
  },
});

/** More are rarely read. `--limit` says otherwise. */
const shownDefault = 100;

const nameTable = tableOf<NamesBody['names'][number]>([
  ['size', ({ sizeBytes }) => formatBytes(sizeBytes), { right: true, stays: true }],
  ['in use by', ({ inUseBy }) => inUseBy ?? '–'],
  ['commit', ({ committedAt }) => committedAt?.slice(0, 10) ?? '–'],
  ['path', (name) => `${name.path ?? '(in no commit)'}${stateText(name)}`, { least: 20, stays: true }],
  ['oid', ({ oid }) => oid, least(12)],
]);

function stateText({ state }: NamesBody['names'][number]): string {
  return state === 'stored' ? '' : `  (${state === 'scheduled' ? 'deletion scheduled' : state})`;
}

function namesText(pages: readonly NamesBody[], view: View): string {
  const [first] = pages;
  if (!first) return '';
  const { sum, madeAt, branch, commit } = first;
  const at = branch ? `, ${branch} at ${commit?.slice(0, 10)}` : '';
  const names = pages.flatMap((page) => page.names);
  const of = names.length < sum.objectCount ? `${formatCount(names.length)} of ` : '';
  return `${names.length > 0 ? nameTable(names, view) : ''}${of}${formatSum(sum)}. Names are from ${formatAge(madeAt, view.nowMs)}${at}.\n`;
}

/** `files search`, `repo names`. */
export const names: CliSubject = {
  files: { 20: searchCommand },
  oldNames: { 'object search': 'files search --tenant $ --repo $' },
  repo: { 85: namesCommand },
  examples: {
    'files search': [
      ['lfs-quota files search Cinematics --not-in-use --tenant acme --repo game'],
      ['lfs-quota files search 68cb88c0ffee --tenant acme --repo game'],
    ],
    'repo names': [
      ['lfs-quota repo names acme game --clone game.git'],
      ['lfs-quota repo names acme game --for readers', 'show them to every token of the repo'],
    ],
  },
  hints: {
    'names-not-found': 'Send them: lfs-quota repo names TENANT REPO --clone DIR',
    'names-full': 'Delete a repo that has names: lfs-quota repo delete TENANT REPO',
  },
};
