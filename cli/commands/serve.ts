import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';

interface ServeOptions {
  readonly listen: string;
  readonly data: string;
  readonly publicUrl: string;
  readonly store?: string;
  readonly bucket?: string;
  readonly region: string;
  readonly trustProxy?: string;
}

const fromEnv = (flags: string, variable: string, description: string) =>
  new Option(flags, description).env(variable);

/** `serve`: lfs-quota on one's own machine, behind a TLS proxy. */
export function registerServe(program: Command, context: CliContext): void {
  program
    .command('serve')
    .summary('Run lfs-quota on your own machine')
    .description('Run lfs-quota on your own machine, behind a TLS proxy')
    .addOption(
      fromEnv('--listen <address:port>', 'LFS_QUOTA_LISTEN', 'where it listens').default('127.0.0.1:8787'),
    )
    .addOption(fromEnv('--data <dir>', 'LFS_QUOTA_DATA', 'data folder').makeOptionMandatory())
    .addOption(
      fromEnv('--public-url <url>', 'LFS_QUOTA_PUBLIC_URL', 'what clients call it').makeOptionMandatory(),
    )
    .addOption(
      fromEnv('--store <url>', 'LFS_QUOTA_STORE', 'S3-compatible store (default: in the data folder)'),
    )
    .addOption(fromEnv('--bucket <name>', 'LFS_QUOTA_BUCKET', 'bucket in that store'))
    .addOption(fromEnv('--region <name>', 'AWS_REGION', 'region of the bucket').default('us-east-1'))
    .addOption(fromEnv('--trust-proxy <list>', 'LFS_QUOTA_TRUST_PROXY', 'addresses and networks of proxies'))
    .action(async (options: ServeOptions) => serve(options, context));
}

async function serve(options: ServeOptions, context: CliContext): Promise<void> {
  // Imported only here: it loads the server and the SDK.
  const [{ startServer }, { StartupError }] = await Promise.all([
    import('../../local/serve.ts'),
    import('../../local/system/durable-file.ts'),
  ]);
  let release: (() => void) | undefined;
  const stopped = new Promise<void>((resolve) => {
    release = context.onInterrupt?.(resolve);
  });
  try {
    const server = await startServer(options, { env: context.env, write: context.err });
    context.out(`listening on port ${server.port}\nready ${server.url}\n`);
    await stopped;
    await server.close();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    throw new CliError(error.message, { hint: 'See lfs-quota serve --help', cause: error });
  } finally {
    release?.();
  }
}
