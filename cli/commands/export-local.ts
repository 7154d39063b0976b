import path from 'node:path';
import { type Command, Option } from 'commander';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { wrongRequested } from '../../lambda/domain/export/requested-objects.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type NamedObject, readObjectsFile } from '../export/objects-file.ts';
import { extractNamed } from '../export/views.ts';
import { exportLocally, type LocalExport } from '../export-local/run.ts';
import { checkPlace, wantedHash } from '../export-local/workspace.ts';
import { openClient, parseRepo, parseTenant, withServiceOptions } from '../options.ts';
import { formatObjects, shellWords } from '../render.ts';

interface LocalOptions {
  readonly url?: string;
  readonly token?: string;
  readonly repo?: string;
  readonly format?: 'tar';
  readonly objects?: string;
  readonly output: string;
  readonly force?: boolean;
  readonly fresh?: boolean;
  readonly json?: boolean;
}

/** `export local TENANT --output FILE`. @param group the command `export`. */
export function registerExportLocal(group: Command, context: CliContext): void {
  withServiceOptions(group.command('local'))
    .description('make the same archive on this disk, from the objects themselves; goes on after a break')
    .argument('<tenant>', 'name of the tenant; the token must be one of it', parseTenant)
    .option('--repo <repo>', 'only the objects of this repo', parseRepo)
    .addOption(new Option('--format <format>', 'default: tar').choices(['tar']))
    .option('--objects <file>', 'only these: lines of OID and NAME, as `git lfs ls-files --long` prints them')
    .requiredOption('--output <file>', 'the archive; until it is complete, FILE.partial lies beside it')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print what was made as JSON')
    .option('--fresh', 'begin anew, without what an earlier call has fetched')
    .action((tenant: string, options: LocalOptions) => exportLocal(tenant, options, context));
}

async function exportLocal(tenant: string, options: LocalOptions, context: CliContext): Promise<void> {
  const { repo = null, output: file } = options;
  const client = openClient(options, context, 'a token of the tenant');
  const wanted = options.objects === undefined ? undefined : readWanted(options.objects);
  checkPlace(file, { isForced: options.force === true });
  const wish = { url: client.baseUrl, tenant, repo, wanted: wanted ? wantedHash(wanted) : null };
  const goOn = `What is complete is kept. Go on with \`${commandOf(tenant, options)}\`.`;
  const input = { file, wish, wanted, isFresh: options.fresh === true, goOn };
  const made = await exportLocally({ client, context }, input);
  const hasNames = wanted?.some(({ name }) => name !== undefined) === true;
  context.out(options.json ? `${JSON.stringify(asJson(made))}\n` : resultText(made, { hasNames }));
  const { missing } = made.state;
  if (missing.length > 0)
    context.err(`It lacks ${formatObjects(missing.length)} not stored now. Its manifest names them.\n`);
}

/** @throws {UsageError} */
function readWanted(file: string): readonly NamedObject[] {
  const { objects } = readObjectsFile(file);
  const wrong = wrongRequested(objects);
  if (wrong)
    throw new UsageError(`${file}: the ${wrong.field} of ${objects[wrong.index]?.oid} ${wrong.message}.`);
  return objects;
}

/** The command that goes on: without --fresh, which would begin anew, and without the token. */
function commandOf(tenant: string, { url, repo, objects, output, force }: LocalOptions): string {
  const words = [
    ...(url === undefined ? [] : ['--url', url]),
    ...(repo === undefined ? [] : ['--repo', repo]),
    ...(objects === undefined ? [] : ['--objects', objects]),
    ...['--output', output],
    ...(force ? ['--force'] : []),
  ];
  return `lfs-quota ${shellWords(['export', 'local', tenant, ...words])}`;
}

function asJson({ file, sizeBytes, state }: LocalExport) {
  const { wish, objects, missing } = state;
  const { tenant, repo } = wish;
  return { tenant, repo, file: path.resolve(file), sizeBytes, objectCount: objects.length, missing };
}

function resultText({ file, sizeBytes, state }: LocalExport, { hasNames }: { hasNames: boolean }): string {
  const made = `${file}: ${formatObjects(state.objects.length)}, ${formatBytes(sizeBytes)}.\n`;
  const archive = shellWords([path.resolve(file)]);
  if (hasNames) return `${made}${extractNamed}  tar -x -f ${archive}\n`;
  return (
    `${made}With it git-lfs needs no server:\n` +
    '  GIT_LFS_SKIP_SMUDGE=1 git clone REPOSITORY work && cd work\n' +
    `  tar -x -C .git -f ${archive}\n` +
    '  git lfs checkout\n'
  );
}
