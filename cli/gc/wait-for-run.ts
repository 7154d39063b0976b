import { type CleanupBody, cleanupSchema } from '../../lambda/api/contract/cleanups.ts';
import type { ApiAnswer, ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { listenForInterrupt } from '../export/transfer.ts';
import { WaitLine } from '../wait-line.ts';
import { progressText } from './views.ts';

const pollMs = 2_000;
/** Polls in a row that fail: a run may take hours, and a connection breaks now and then. */
const failedPollsMax = 5;

/**
 * Waits until a run has ended, and shows how far it is.
 *
 * @param wait.isQuiet show nothing.
 * @throws {CliError} on Ctrl-C, or when the API does not answer.
 */
export async function waitForRun(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { path: string; isQuiet: boolean },
): Promise<ApiAnswer<CleanupBody>> {
  const line = new WaitLine(context, wait);
  const interrupt = listenForInterrupt(context);
  try {
    for (let failures = 0; ; ) {
      try {
        const answer = await client.send({ method: 'GET', path: wait.path, shape: cleanupSchema });
        failures = 0;
        const { state } = answer.body;
        if (state !== 'selecting' && state !== 'deleting') {
          return answer;
        }
        line.show(line.inPlace ? progressText(answer.body) : state);
      } catch (error) {
        failures += 1;
        if (!(error instanceof CliError) || failures >= failedPollsMax) throw error;
      }
      await interrupt.sleep(pollMs);
      if (interrupt.signal.aborted) {
        throw new CliError('Stopped waiting. The clean-up goes on without this command.', {
          failure: 'interrupted',
          hint: 'See how far it is with `lfs-quota gc status`, or end it with `lfs-quota gc cancel`.',
        });
      }
    }
  } finally {
    line.clear();
    interrupt.release();
  }
}
