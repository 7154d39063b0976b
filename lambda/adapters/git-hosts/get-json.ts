import { GitHostUnavailableError } from '../../ports/git-hosts.ts';

/** For all that is asked about one token together. */
export const answerMs = 3_000;
/** GitHub tells some 7 kB of a repository, or three times that of a fork. */
const bodyBytesMax = 100_000;

/** One answer of a host. */
export interface Got {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  /** Of a 200 alone: what its JSON says. */
  readonly body: unknown;
}

/** How a host is asked. */
export interface Asking {
  /** Of the API, without a closing slash. */
  readonly url: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Gets JSON with a person's token. It is not followed elsewhere: the token is for this host alone.
 *
 * @param path escaped, with its slash.
 * @throws {GitHostUnavailableError} there is no whole answer, or a 200 is not JSON.
 */
export async function getJson({ url, token, headers, signal }: Asking, path: string): Promise<Got> {
  try {
    const response = await fetch(url + path, {
      redirect: 'manual',
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': 'lfs-quota',
        // What is compressed may be anything in size.
        'accept-encoding': 'identity',
        ...headers,
        authorization: `Bearer ${token}`,
      },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { status: response.status, headers: response.headers, body: undefined };
    }
    return { status: 200, headers: response.headers, body: JSON.parse(await textOf(response)) };
  } catch (error) {
    throw new GitHostUnavailableError(`A git host does not answer as it should: ${whyOf(error, signal)}.`);
  }
}

async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.byteLength;
    if (length > bodyBytesMax) throw new TooLongError();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

class TooLongError extends Error {}

/** In our words: what `fetch` says may quote a header or an address. */
function whyOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'it takes too long';
  if (error instanceof TooLongError) return `it sent more than ${bodyBytesMax} bytes`;
  if (error instanceof SyntaxError) return 'it sent no JSON';
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'the connection broke';
}
