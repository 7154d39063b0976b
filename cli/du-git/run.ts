import { asCalled, type CliContext, canDrawBlocks } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type LfsAddress, lfsAddressOf } from '../git/lfs-address.ts';
import { eachPage, pageSizeMax } from '../list-pages.ts';
import { openClient } from '../options.ts';
import { WaitLine } from '../progress.ts';
import { formatCount } from '../render.ts';
import { viewOf } from '../terminal.ts';
import { formatReport, jsonReport } from './report.ts';
import { pathsOfObjects, usageByPath } from './usage.ts';

export interface DuGitOptions {
  /** Folder of the clone. */
  readonly clone?: string;
  readonly url?: string;
  readonly token?: string;
  readonly tenant?: string;
  readonly repo?: string;
  readonly depth?: number;
  readonly top?: number;
  readonly json?: boolean;
}

const topDefault = 20;

/** `du --git`: what a repo stores, by the paths that its objects have in a clone. */
export async function duGit(options: DuGitOptions, context: CliContext): Promise<void> {
  const { clone = '.' } = options;
  const address = await addressOf(clone, options);
  const line = new WaitLine(context, { isQuiet: true });
  const paths = await pathsOfObjects(clone, {
    onProgress: (count) => line.show(`scanning: ${formatCount(count)} objects of git`),
  });
  line.clear();
  const { stored, others } = await storedOf(address, options, context);
  const usage = usageByPath(stored, paths, others);
  if (options.json) return context.out(`${JSON.stringify(jsonReport(address, usage))}\n`);
  const report = formatReport(address, usage, {
    depth: options.depth,
    top: options.top ?? topDefault,
    view: viewOf(context),
    drawBlocks: canDrawBlocks(context.env),
  });
  context.out(asCalled(report, context));
}

async function addressOf(clone: string, options: DuGitOptions): Promise<LfsAddress> {
  const { url, tenant, repo } = options;
  if ((tenant === undefined) !== (repo === undefined))
    throw new UsageError('Give both --tenant and --repo, or none of them.');
  if (tenant === undefined || repo === undefined) {
    const address = await lfsAddressOf(clone);
    return url === undefined ? address : { ...address, baseUrl: url };
  }
  return { baseUrl: url ?? '', tenant, repo };
}

async function storedOf({ baseUrl, tenant, repo }: LfsAddress, options: DuGitOptions, context: CliContext) {
  const service = baseUrl === '' ? options : { ...options, url: baseUrl };
  const pages = eachPage(openClient(service, context, 'the admin token, or one of the tenant'), {
    route: 'listObjects',
    params: { tenant },
    query: { repo },
    items: 'objects',
    options: { pageSize: pageSizeMax },
  });
  const stored = new Map<string, number>();
  const others = { bytes: 0, objectCount: 0 };
  for await (const { body } of pages) {
    for (const { oid, sizeBytes } of body.objects) stored.set(oid, sizeBytes);
    for (const { objectCount, sizeBytes } of body.others) {
      others.objectCount += objectCount;
      others.bytes += sizeBytes;
    }
  }
  return { stored, others };
}
