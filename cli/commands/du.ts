import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import type { DuCount } from '../du/count.ts';
import { type DuOptions, flagOf, requestPrice, savingOf, targetOf, withDuOptions } from '../du/options.ts';
import { dollarsOf, formatReport, jsonReport, ProgressLine } from '../du/report.ts';
import { type DuGitOptions, duGit } from '../du-git/run.ts';
import { UsageError } from '../errors.ts';
import { parseRepo, parseTenant } from '../options.ts';
import { viewOf } from '../terminal.ts';

interface GitModeOptions extends DuGitOptions {
  readonly git?: boolean;
}

/** What `--git` can be used with. */
const gitModeOptions = ['git', 'clone', 'url', 'token', 'tenant', 'repo', 'depth', 'top', 'json'];
/** Those of them that nothing else has. */
const gitOnlyOptions = ['clone', 'url', 'token', 'tenant', 'repo'];

/**
 * `du s3://BUCKET/PATH`: counts any path of any S3 bucket, without any lfs-quota service. `du --git`: what a repo of the
 * service stores, by the paths of a clone.
 */
export function registerDu(program: Command, context: CliContext): void {
  const command = program
    .command('du')
    .description('count what is below a path of any S3 bucket, or with --git what a repo stores, by path')
    .argument('[url]', 's3://BUCKET, s3://BUCKET/PATH, or s3://BUCKET/PREFIX* for all keys with that prefix');
  withDuOptions(command)
    .option('--git', 'what the service stores of the clone in this folder, by the paths of its files')
    .option('--clone <dir>', 'with --git: another clone')
    .option('--tenant <tenant>', 'with --git: the tenant (default: by lfs.url)', parseTenant)
    .option('--repo <repo>', 'with --git: the repo (default: by lfs.url)', parseRepo)
    .option('--url <url>', 'with --git: address of the API (default: by lfs.url)')
    .option('--token <token>', 'with --git: a token of the tenant (env: LFS_QUOTA_TOKEN)')
    .action(async (url: string | undefined, options: DuOptions & GitModeOptions) => {
      refuseMixture(url, options);
      return url === undefined ? duGit(options, context) : du(url, options, context);
    });
}

/** @throws {UsageError} for options of both, or of neither. */
function refuseMixture(url: string | undefined, options: DuOptions & GitModeOptions): void {
  const given = Object.keys(options);
  if (options.git) {
    if (url !== undefined) throw new UsageError('--git counts a clone. Give either it or an address s3://….');
    const other = given.find((name) => !gitModeOptions.includes(name));
    if (other !== undefined)
      throw new UsageError(`${flagOf(other)} is for a bucket: leave it out with --git.`);
    return;
  }
  if (url === undefined) throw new UsageError('Give an address such as s3://BUCKET, or --git in a clone.');
  const gitOnly = given.find((name) => gitOnlyOptions.includes(name));
  if (gitOnly !== undefined) throw new UsageError(`--${gitOnly} is for a clone: add --git.`);
}

async function du(url: string, options: DuOptions, context: CliContext): Promise<void> {
  const target = targetOf(url, options, context);
  const { scan } = target;
  const saving = savingOf(url, options);
  const price = requestPrice(options, scan.endpoint);
  const line = new ProgressLine(context, (sums) => dollarsOf(sums, price));
  const print = (count: DuCount) => {
    const report = { scan, count, requestPrice: price };
    context.out(
      options.json ? `${JSON.stringify(jsonReport(report))}\n` : formatReport(report, viewOf(context)),
    );
  };
  // Imported only here: loading the SDK takes longer than most other commands take.
  const { runDu } = await import('../du/run.ts');
  await runDu(target, { context, line, print, saving });
}
