import { Option } from 'commander';
import { actionCommand, type CliSubject, given, ofRepo, option, required } from '../command.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { checkClone } from '../git/clone.ts';
import { type LfsObject, type LfsRepo, ownRepo } from '../lfs-batch.ts';
import { openArchive } from '../move/archive.ts';
import { bytesOf, objectsOfClone, objectsOfRepo } from '../move/objects.ts';
import { OtherRepo, readLfsEndpoint } from '../move/other-repo.ts';
import { type Relayed, relay, repoSource, type Source } from '../move/relay.ts';
import { firstLines, formatObjects, formatSum } from '../render.ts';
import { continues, transferring } from '../transfer.ts';

/** `import` and `mirror`: copy the objects of a repo from and to other LFS servers. */

/** Objects that a person is shown. */
const namedMax = 3;

/** Where objects are copied to and from, for a person. */
interface Move {
  readonly from: Source;
  readonly to: LfsRepo;
  readonly source: string;
  readonly target: string;
  readonly objects: readonly LfsObject[];
  /** What copies them. Default: this machine. */
  readonly by?: typeof relay | undefined;
}

export const importCommand = (services: readonly NonNullable<CliSubject['byService']>[]) =>
  actionCommand({
    name: 'import',
    description: 'Copy objects from another LFS server or an archive',
    operands: ofRepo,
    isExplicit: true,
    options: {
      from: option('--from <url>', 'the repository, or its LFS API, on the other server'),
      archive: option('--archive <file>', 'or the tar or zip of an export'),
      via: given<'machine' | 'service'>(
        new Option('--via <side>', 'the side that copies: your machine, or the server by signed URLs')
          .choices(['machine', ...services.map(() => 'service')])
          .default('machine'),
      ),
      clone: given<string>(
        new Option('--clone <dir>', 'a full clone: what its branches and tags need is copied').default('.'),
      ),
    },
    wanted: 'a token of the tenant that can push',
    async run(client, { operands, options, context }) {
      const { clone, from, archive, json, via } = options;
      if ((from === undefined) === (archive === undefined))
        throw new UsageError('Pass --from URL, or --archive FILE.');
      if (archive !== undefined && via === 'service')
        throw new UsageError("--via service needs --from: the server can't read your archive.");
      const into = {
        isJson: json === true,
        to: ownRepo(client, operands),
        target: `${operands.tenant}/${operands.repo}`,
      };
      if (archive !== undefined) {
        const from = await openArchive(archive);
        const moved = move(context, { ...into, from, source: archive, objects: from.objects });
        return moved.finally(() => from.close());
      }
      const endpoint = readLfsEndpoint(from ?? '');
      await checkClone(clone, []);
      const reading = () => objectsOfClone(clone);
      const objects = await client.busy.during(() => `reading ${clone}`, reading);
      const source = new URL(endpoint.url).host;
      const other = new OtherRepo(endpoint, clone);
      await move(context, {
        ...into,
        from: repoSource(other),
        source,
        objects,
        by: via === 'service' ? services[0]?.({ from: other, to: into.to }) : undefined,
      });
    },
  });

export const mirrorCommand = actionCommand({
  name: 'mirror',
  description: 'Copy a repo to another LFS server',
  operands: ofRepo,
  isExplicit: true,
  options: { to: required(option('--to <url>', 'the repository, or its LFS API, on the other server')) },
  wanted: 'a token of the tenant',
  async run(client, { operands, options, context }) {
    const endpoint = readLfsEndpoint(options.to);
    await move(context, {
      isJson: options.json === true,
      from: repoSource(ownRepo(client, operands)),
      to: new OtherRepo(endpoint, '.'),
      source: `${operands.tenant}/${operands.repo}`,
      target: new URL(endpoint.url).host,
      objects: await objectsOfRepo(client, operands),
    });
  },
});

/** @throws {CliError} unless the target has all objects. */
async function move(context: CliContext, { isJson, ...input }: Move & { isJson: boolean }): Promise<void> {
  const { objects, source, target } = input;
  const relayed = await transferring(
    context,
    {
      isQuiet: isJson,
      totalBytes: bytesOf(objects),
      file: target,
      goOn: continues,
      incomplete: `${target} doesn't have everything of ${source} yet.`,
    },
    (deps, { onBytes, say }) => (input.by ?? relay)(deps, { ...input, onBytes, say }),
  );
  context.out(isJson ? `${JSON.stringify(jsonOf(relayed, input))}\n` : textOf(relayed, input));
  requireAll(relayed, input);
}

const sumOf = (objects: readonly LfsObject[]) =>
  formatSum({ objectCount: objects.length, bytes: bytesOf(objects) });

/** What the target lacks of what it is to have. */
function missingOf({ copied, present }: Relayed, { objects }: Move): LfsObject[] {
  const there = new Set([...copied, ...present].map(({ oid }) => oid));
  return objects.filter(({ oid }) => !there.has(oid));
}

function jsonOf(relayed: Relayed, moved: Move) {
  const { copied, present, absent, failed, full } = relayed;
  const missing = missingOf(relayed, moved);
  return {
    from: moved.source,
    to: moved.target,
    copied: { objects: copied.length, bytes: bytesOf(copied) },
    present: { objects: present.length, bytes: bytesOf(present) },
    missing: { objects: missing.length, bytes: bytesOf(missing) },
    absentOids: absent.map(({ oid }) => oid),
    failed: failed.map(({ object: { oid }, message }) => ({ oid, message })),
    limitReached: full ?? null,
  };
}

function textOf(relayed: Relayed, moved: Move): string {
  const { copied, present } = relayed;
  const missing = missingOf(relayed, moved);
  const rows = [
    ['copied', copied],
    ['already there', present],
    ['missing', missing],
  ] as const;
  const shown = rows.filter(([, objects]) => objects === copied || objects.length > 0);
  return shown.map(([name, objects]) => `${name.padEnd(15)}${sumOf(objects)}\n`).join('');
}

/** @throws {CliError} that says why something is missing, the most important reason alone. */
function requireAll(relayed: Relayed, moved: Move): void {
  const { absent, failed, full } = relayed;
  const { source, target } = moved;
  if (full !== undefined)
    throw new CliError(`${target} is full: ${full}`, {
      failure: 'refused',
      hint: `Raise the limit, then run the command again. ${sumOf(missingOf(relayed, moved))} are missing.`,
    });
  const named = (lines: readonly string[]) => firstLines(lines, namedMax).join('\n');
  if (failed.length > 0)
    throw new CliError(
      `${formatObjects(failed.length)} failed:\n${named(failed.map(({ object, message }) => `${object.oid}: ${message}`))}`,
      { hint: continues },
    );
  if (absent.length > 0)
    throw new CliError(
      `${source} doesn't have ${formatObjects(absent.length)}:\n${named(absent.map(({ oid }) => oid))}`,
      {
        failure: 'not-found',
        hint: 'Everything else is copied. Push them from a clone that has them: git lfs push --object-id REMOTE OID',
      },
    );
}
