import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { WaitLine } from '../progress.ts';
import { formatCount } from '../render.ts';
import { checkClone, scanClone } from './clone.ts';
import { readTips } from './keep-rule.ts';

/**
 * Reads what a whole clone has of LFS objects, and at its tips, and shows how far it is.
 *
 * @returns `line`: goes on from there. `scanned`: how much was looked at, in parentheses.
 * @throws {CliError} if the clone lacks something that its remotes have.
 */
export async function readClone(
  client: Pick<ApiClient, 'busy'>,
  context: CliContext,
  {
    clone,
    remote = ['origin'],
    isQuiet,
  }: { clone: string; remote?: readonly string[] | undefined; isQuiet: boolean },
) {
  const line = new WaitLine(context, { isQuiet });
  const refs = await client.busy.during(
    () => `asking for the refs of ${remote.join(', ')}`,
    () => checkClone(clone, remote),
  );
  const { oids, pointers, objectCount } = await scanClone(clone, {
    refs,
    onProgress: (count) => {
      if (line.inPlace) line.show(`scanning: ${formatCount(count)} objects of git`);
    },
  });
  const tips = await readTips(clone, { refs, pointers });
  return {
    refs,
    oids,
    pointers,
    tips,
    line,
    scanned: `(${formatCount(objectCount)} objects of git scanned)`,
  };
}
