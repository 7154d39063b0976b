import { randomBytes } from 'node:crypto';
import { access, constants, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { flag, type OptionsOf, option } from '../command.ts';
import type { CliContext } from '../context.ts';
import type { Outcome } from '../doctor/check.ts';
import type { ProbeTarget } from '../doctor/probe.ts';
import type { StoreProfile } from '../doctor/profile.ts';
import type { CheckResult, Examination } from '../doctor/run-checks.ts';
import { CliError, UsageError } from '../errors.ts';
import { endpointOption, parseBytes, parseS3Url, storePlaceOf } from '../options.ts';
import { BusyLine } from '../progress.ts';
import { printable } from '../terminal.ts';

const options = {
  endpoint: option(...endpointOption),
  region: option('--region <name>', 'region of the bucket (env: AWS_REGION; default: us-east-1)'),
  json: flag('--json', 'print one JSON object at the end'),
  profile: option('--profile <file>', 'write the result as JSON'),
  largest: option('--largest <size>', 'also find the largest upload, from this size down', parsePutSize),
  origin: option('--origin <url>', 'also test uploads from web pages of this origin', parseOrigin),
  thorough: flag('--thorough', 'more rounds, and pages of 1,000 keys: about 2,700 requests'),
};
type DoctorOptions = Partial<OptionsOf<typeof options>>;

/** `doctor s3://BUCKET`: tries whether a store does what the service relies on. It needs no lfs-quota service. */
export function registerDoctor(program: Command, context: CliContext): void {
  const command = program
    .command('doctor')
    .summary('Test an S3-compatible store')
    .description('Test an S3-compatible store: writes about 75 objects (19 MB) and deletes them')
    .argument('<url>', 's3://BUCKET or s3://BUCKET/PATH; test objects go below a random path');
  for (const { option: made } of Object.values(options)) command.addOption(made);
  command.action(async (url: string, given: DoctorOptions) => doctor(url, given, context));
}

async function doctor(url: string, options: DoctorOptions, context: CliContext): Promise<void> {
  const target = readTarget(url, options, context);
  if (options.profile !== undefined) await checkFolderOf(options.profile);
  await testStore(target, options, context);
}

/** Tests a store, and shows what it finds. @throws {CliError} unless the store can be used. */
export async function testStore(
  target: ProbeTarget,
  options: Pick<DoctorOptions, 'json' | 'profile'>,
  context: CliContext,
): Promise<StoreProfile> {
  const startedMs = context.nowMs();
  // Imported only here: loading the SDK takes longer than most other commands take.
  const { examine } = await import('../doctor/run-checks.ts');
  const abort = new AbortController();
  const release = context.onInterrupt?.(() => {
    busy.hide();
    context.err('Cleaning up. Press Ctrl-C again to stop immediately; leftovers are below ');
    context.err(`s3://${target.bucket}/${target.prefix}\n`);
    abort.abort();
  });
  let made = 0;
  const busy = new BusyLine(context);
  const onResult = (result: CheckResult) => {
    made += 1;
    busy.hide();
    if (!options.json) context.out(formatResult(result));
  };
  if (!options.json) context.out(`Testing s3://${target.bucket} below ${target.prefix}\n\n`);
  const examined = await busy
    .during(
      () => `testing the store, ${made} checks finished`,
      () => examine(target, { signal: abort.signal, onResult }),
    )
    .finally(() => release?.());
  const seconds = (context.nowMs() - startedMs) / 1000;
  if (options.json) context.out(`${JSON.stringify({ ...asJson(target, examined), seconds })}\n`);
  else context.out(`\n${formatSummary(examined.results)}\n`);
  const profile = profileOf(target, { ...examined, probedAtMs: startedMs });
  if (!examined.isInterrupted && options.profile !== undefined) await writeProfile(options.profile, profile);
  conclude(examined);
  return profile;
}

const labels: Readonly<Record<Outcome, string>> = {
  pass: 'pass',
  warning: 'WARNING',
  fail: 'FAIL',
  skipped: 'skipped',
};

const labelWidth = Math.max(...Object.values(labels).map((label) => label.length));
const idWidth = 20;

/** One line about a check, and one with what to do. */
function formatResult({ id, outcome, detail, advice }: CheckResult): string {
  const head = `${labels[outcome].padEnd(labelWidth)}  ${id.padEnd(idWidth)}`;
  const lines = [`${head}${printable(detail)}`];
  if (advice !== undefined) lines.push(`${' '.repeat(labelWidth + 2 + idWidth)}→ ${printable(advice)}`);
  return `${lines.join('\n')}\n`;
}

const idsWith = (results: readonly CheckResult[], wanted: Outcome): string[] =>
  results.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);

/** `41 checks: 38 pass, 1 warning (multipart), 2 skipped.` */
function formatSummary(results: readonly CheckResult[]): string {
  const parts = (['pass', 'fail', 'warning', 'skipped'] as const).flatMap((outcome) => {
    const ids = idsWith(results, outcome);
    const names = outcome === 'fail' || outcome === 'warning' ? ` (${ids.join(', ')})` : '';
    return ids.length === 0 ? [] : [`${ids.length} ${outcome}${names}`];
  });
  return `${results.length} checks: ${parts.join(', ')}.`;
}

/** Succeeds only if all checks were made, and none failed. @throws {CliError} */
function conclude({ results, isInterrupted }: Examination): void {
  if (isInterrupted)
    throw new CliError('Interrupted before all checks ran.', {
      hint: 'Run it again for the others.',
      failure: 'interrupted',
    });
  const failed = idsWith(results, 'fail');
  if (failed.length === 0) return;
  if (failed.some((id) => id === 'credentials' || id === 'bucket')) {
    throw new CliError(`The store couldn't be tested: the check ${failed[0]} failed.`, {
      hint: 'See above what to do.',
    });
  }
  const count = failed.length === 1 ? 'a check' : `${failed.length} checks`;
  throw new CliError(`Don't use lfs-quota with this store: ${count} failed (${failed.join(', ')}).`, {
    hint: 'Each explains above what to do. See docs/deploy.md#choose-a-store.',
  });
}

function asJson({ bucket, prefix, endpoint, region }: ProbeTarget, examined: Examination) {
  const { results: checks, holds, requests, left, isInterrupted } = examined;
  const usable = !isInterrupted && idsWith(checks, 'fail').length === 0;
  return { bucket, prefix, endpoint: endpoint ?? null, region, usable, checks, holds, requests, left };
}

/** Looked for at once, because the checks may take minutes. */
async function checkFolderOf(file: string): Promise<void> {
  const folder = path.dirname(file);
  await access(folder, constants.W_OK).catch(() => {
    throw new UsageError(`Can't write to the folder ${folder}. Pass another file to --profile.`);
  });
}

function profileOf(
  { endpoint, region, bucket }: ProbeTarget,
  { results, holds, probedAtMs }: Examination & { probedAtMs: number },
): StoreProfile {
  const failed = idsWith(results, 'fail');
  return {
    formatVersion: 1,
    probedAt: new Date(probedAtMs).toISOString(),
    endpoint: endpoint ?? null,
    region,
    bucket,
    usable: failed.length === 0,
    failed,
    warnings: idsWith(results, 'warning'),
    holds,
  };
}

export async function writeProfile(file: string, profile: StoreProfile): Promise<void> {
  await writeFile(file, `${JSON.stringify(profile, null, 2)}\n`).catch((cause: Error) => {
    throw new CliError(`Couldn't write the profile: ${cause.message}.`, {
      hint: 'Free up space, or use a file that you can write. Run it again.',
      cause,
    });
  });
}

function readTarget(url: string, options: DoctorOptions, context: CliContext): ProbeTarget {
  if (url.endsWith('*')) throw new UsageError('Use a path without *: s3://BUCKET or s3://BUCKET/PATH.');
  const { bucket, prefix } = parseS3Url(url);
  return {
    bucket,
    prefix: `${prefix}lfs-quota-doctor-${randomBytes(8).toString('hex')}/`,
    ...storePlaceOf(options, context),
    isThorough: options.thorough === true,
    largestBytes: options.largest,
    origin: options.origin,
  };
}

function parseOrigin(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new InvalidArgumentError('Use what a browser sends, such as https://app.example.com.');
}

/** A size that one PUT may have. */
export function parsePutSize(text: string): number {
  const bytes = parseBytes(text);
  const { objectBytesMax } = defaultSettings;
  if (bytes < 1 || bytes > objectBytesMax)
    throw new InvalidArgumentError("Use a size up to 5GiB, S3's largest PUT, such as 500MB.");
  return bytes;
}
