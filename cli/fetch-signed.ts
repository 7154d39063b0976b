import { CliError } from './errors.ts';

/** Of what is sent or read whole. */
const transferMs = 10 * 60_000;

/**
 * Sends a request to a URL that the server signed.
 *
 * @param hint what to do if it fails. @throws {CliError}
 */
export async function fetchOrFail(
  url: string,
  { hint, ...request }: RequestInit & { readonly hint: string },
): Promise<Response> {
  const where = new URL(url).origin;
  try {
    const answer = await fetch(url, {
      ...request,
      redirect: 'error',
      signal: AbortSignal.timeout(transferMs),
    });
    if (answer.ok) return answer;
    throw new CliError(`The store at ${where} returned ${answer.status}.`, { hint });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The store at ${where} doesn't respond.`, {
      hint,
      failure: 'unavailable',
      cause: error,
    });
  }
}
