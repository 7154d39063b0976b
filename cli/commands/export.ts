import { type Command, InvalidArgumentError, Option } from 'commander';
import { exportIdPattern } from '../../lambda/domain/export/export-id.ts';
import {
  type ExportBody,
  exportPageSchema,
  exportSchema,
} from '../../lambda/http/management/exports/schemas.ts';
import type { ApiClient } from '../api-client.ts';
import { asCalled, type CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { downloadArchive } from '../export/download.ts';
import { readObjectsFile } from '../export/objects-file.ts';
import { checkOutput, filesFor } from '../export/output.ts';
import { renderExport, renderExports, restoreText } from '../export/views.ts';
import { exportPath, waitForExport } from '../export/wait-for-export.ts';
import { type ListOptions, printList, withListOptions } from '../list-pages.ts';
import { type ApiOptions, openClient, parseRepo, parseTenant, withApiOptions } from '../options.ts';
import { printAnswer } from '../print-answer.ts';
import { viewOf } from '../view.ts';
import { registerExportLocal } from './export-local.ts';

interface StartOptions extends ApiOptions {
  readonly repo?: string;
  readonly format?: 'tar' | 'zip';
  readonly objects?: string;
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly output?: string;
}

/** `export start|list|show|delete`: all objects of a tenant or repo as one archive. */
export function registerExport(program: Command, context: CliContext): void {
  const group = program
    .command('export')
    .description('make an archive of all objects of a tenant or repo, in the store');
  registerStart(group, context);
  registerExportLocal(group, context);
  withListOptions(group.command('list'))
    .description('list the exports of a tenant, the newest first')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .action(async (tenant: string, options: ListOptions) => {
      await printList(context, openClient(options, context), {
        path: `/v1/tenants/${tenant}/exports`,
        shape: exportPageSchema,
        items: 'exports',
        options,
        render: (pages) => {
          const exports = pages.flatMap((page) => page.exports);
          return exports.length === 0 ? 'No exports.\n' : renderExports(exports, viewOf(context));
        },
      });
    });
  withApiOptions(group.command('show'))
    .description('show an export, with URLs of its archives, or download them')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<export>', 'id of the export', parseExportId)
    .option(
      '--output <file>',
      'download the archive to this file, or into this folder; goes on after a break',
    )
    .action(async (tenant: string, exportId: string, options: ApiOptions & { output?: string }) => {
      const { output } = options;
      if (output !== undefined) checkOutput(output);
      const client = openClient(options, context);
      const path = exportPath({ tenant, exportId });
      const { body, text } = await client.send({ method: 'GET', path, shape: exportSchema });
      if (output !== undefined) await downloadAll({ client, context }, { job: body, output, options });
      if (options.json) return context.out(`${text}\n`);
      context.out(output === undefined ? asShown(body, context) : restoreText(body));
    });
  withApiOptions(group.command('delete'))
    .description('cancel an export, or remove its archive')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<export>', 'id of the export', parseExportId)
    .action(async (tenant: string, exportId: string, options: ApiOptions) => {
      await printAnswer(context, options, {
        method: 'DELETE',
        path: exportPath({ tenant, exportId }),
        shape: exportSchema,
        render: (body) => `The export ${exportId} is ${deleted[body.state] ?? body.state}.\n`,
      });
    });
}

/** What a delete did, where the state alone does not say it. */
const deleted: Partial<Record<ExportBody['state'], string>> = {
  cancelled: 'cancelled, and what it made is removed',
  expired: 'over, and its archive is removed',
};

function registerStart(group: Command, context: CliContext): void {
  withApiOptions(group.command('start'))
    .description('make an archive, and wait until it is there')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .option('--repo <repo>', 'only the objects of this repo', parseRepo)
    .addOption(new Option('--format <format>', 'default: tar').choices(['tar', 'zip']))
    .option('--objects <file>', 'only these: lines of OID and NAME, as `git lfs ls-files --long` prints them')
    .option('--dry-run', 'only tell what it would take')
    .option('--no-wait', 'do not wait')
    .option('--output <file>', 'download the archive to this file, or into this folder')
    .action(async (tenant: string, options: StartOptions) => {
      const { output } = options;
      if (output !== undefined && (!options.wait || options.dryRun))
        throw new UsageError('--output needs an archive: leave out --no-wait and --dry-run.');
      if (output !== undefined) checkOutput(output);
      const client = openClient(options, context);
      const started = await client.send({
        method: 'POST',
        path: `/v1/tenants/${tenant}/exports`,
        body: wishOf(options, context),
        shape: exportSchema,
      });
      if (!options.wait) {
        context.out(options.json ? `${started.text}\n` : begunText(started.body, context));
        return;
      }
      const isQuiet = options.json === true;
      const { body, text } = await waitForExport({ client, context }, { job: started.body, isQuiet });
      throwIfFailed(body);
      if (output !== undefined) await downloadAll({ client, context }, { job: body, output, options });
      if (options.json) return context.out(`${text}\n`);
      context.out(output === undefined ? asShown(body, context) : restoreText(body));
    });
}

function wishOf(options: StartOptions, context: CliContext) {
  const { repo, format, dryRun, objects: file } = options;
  const { objects, repeats = 0 } = file === undefined ? {} : readObjectsFile(file);
  if (repeats > 0)
    context.err(`${repeats} lines name an object again. It will be there once, under its first name.\n`);
  return {
    ...(repo !== undefined && { repo }),
    ...(format !== undefined && { format }),
    ...(dryRun && { dryRun }),
    ...(objects && { objects }),
  };
}

async function downloadAll(
  by: { client: ApiClient; context: CliContext },
  { job, output, options }: { job: ExportBody; output: string; options: ApiOptions },
): Promise<void> {
  if (job.state !== 'done')
    throw new CliError(`There is no archive to download: the export is ${job.state}.`, {
      hint: `See how far it is with \`lfs-quota export show ${job.tenant} ${job.exportId}\`.`,
    });
  const isQuiet = options.json === true;
  for (const { file, index } of filesFor(output, job))
    await downloadArchive(by, { job, index, file, isQuiet });
}

function begunText({ tenant, exportId }: ExportBody, { program }: CliContext): string {
  return `The export ${exportId} has begun. See how far it is: ${program} export show ${tenant} ${exportId}\n`;
}

function throwIfFailed({ tenant, state, failure }: ExportBody): void {
  if (state === 'done' || state === 'explained') return;
  const why = failure === null ? `The export is ${state}.` : `The export failed. ${failure.message}`;
  throw new CliError(why, { hint: `Begin another with \`lfs-quota export start ${tenant}\`.` });
}

function asShown(job: ExportBody, context: CliContext): string {
  return asCalled(renderExport(job, viewOf(context)), context);
}

/** An export's id. It is checked here because `..` in a path would lead to another endpoint. */
function parseExportId(text: string): string {
  if (!exportIdPattern.test(text))
    throw new InvalidArgumentError('List the ids with `lfs-quota export list TENANT`.');
  return text;
}
