import { parseJson } from '../../lambda/core/rules/text.ts';
import { CliError, UsageError, unreachableError } from '../errors.ts';
import { gitText } from '../git/git.ts';
import { type LfsRepo, mediaType, type Operation, whyOf } from '../lfs-batch.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import { asPrintable } from '../terminal.ts';
import { TransferError } from '../transfer.ts';
import { isForNow } from '../until-answered.ts';
import { textOf } from './put.ts';

/** A repo of another LFS server, asked as git-lfs asks it: with the login that git has for it. */

/** A batch of some servers asks their own store for each object. */
const requestMs = 60_000;

export interface LfsEndpoint {
  /** Absolute, without a slash at its end, and without a login. */
  readonly url: string;
  /** The login that was part of it. */
  readonly login: Login | undefined;
}

interface Login {
  readonly username: string;
  readonly password: string;
}

/**
 * Reads the address of a repository, or of its LFS API: git-lfs's rule for what a repository's has at its end.
 *
 * @throws {UsageError}
 */
export function readLfsEndpoint(text: string): LfsEndpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.pathname === '/')
    // Without a login: errors end up in logs.
    throw new UsageError(
      `'${text.replace(/^(.*\/\/)?.*@/s, '$1')}' isn't a repository's URL. Use one such as https://github.com/acme/game.git`,
    );
  const { username, password } = url;
  const path = url.pathname.replace(/\/+$/, '');
  const end = path.endsWith('/info/lfs') ? '' : path.endsWith('.git') ? '/info/lfs' : '.git/info/lfs';
  const login = { username: decoded(username), password: decoded(password) };
  return { url: `${url.origin}${path}${end}`, login: password === '' ? undefined : login };
}

/** @throws {UsageError} */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UsageError("The URL's user and password must be percent-encoded: write % as %25.");
  }
}

export class OtherRepo implements LfsRepo {
  readonly #url: string;
  readonly #folder: string;
  #login: Login | undefined;
  /** Shared by those who are refused at the same time. */
  #asked: Promise<void> | undefined;

  /** @param folder where git is asked for a login: a clone may have helpers of its own. */
  constructor({ url, login }: LfsEndpoint, folder: string) {
    this.#url = url;
    this.#login = login;
    this.#folder = folder;
  }

  async batch(body: unknown) {
    // Another request may have found a login meanwhile, which this one was sent without.
    const isLoginSent = this.#login !== undefined;
    const answer = await this.#send(body);
    if (answer.status !== 401 || isLoginSent) return answer;
    this.#asked ??= this.#askGit();
    await this.#asked;
    return this.#send(body);
  }

  refusal(operation: Operation, { status, body }: { status: number; body: unknown }): CliError {
    const what = status === 200 ? 'no LFS batch' : status;
    const said = `${this.#url} returned ${what} for ${operation}s${whyOf(body)}`;
    if (status === 401 || status === 403)
      return new CliError(said, {
        failure: 'unauthorized',
        hint: `Give git a login that can ${operation === 'upload' ? 'push' : 'fetch'} there: git credential approve, or git ${operation === 'upload' ? 'push' : 'fetch'} once.`,
      });
    return new CliError(said, {
      failure: isForNow(status) ? 'unavailable' : 'failed',
      hint: isForNow(status)
        ? 'Run the command again in a few minutes: it continues.'
        : status === 509
          ? 'Get a higher limit there, or wait until it resets. Then run the command again: it continues.'
          : "Check the URL, and that your login can see the repository: other servers answer 404 if it can't.",
    });
  }

  async #send(body: unknown) {
    const login = this.#login;
    try {
      const response = await fetch(`${this.#url}/objects/batch`, {
        method: 'POST',
        headers: {
          accept: mediaType,
          'content-type': mediaType,
          ...(login && { authorization: `Basic ${basicOf(login)}` }),
        },
        body: JSON.stringify(body),
        // It would carry the login to another place.
        redirect: 'manual',
        signal: AbortSignal.timeout(requestMs),
      });
      const retryAfterMs = retryAfterMsOf(response.headers);
      const text = await textOf('server', response.body ?? []);
      const said = redirectIn(response) ?? parseJson(text, readBody);
      return { status: response.status, body: said, retryAfterMs };
    } catch (error) {
      if (error instanceof TransferError) throw error;
      throw unreachableError(error, new URL(this.#url).origin);
    }
  }

  /** @throws {CliError} if git has none. */
  async #askGit(): Promise<void> {
    const { protocol, host, pathname } = new URL(this.#url);
    const asked = [`protocol=${protocol.slice(0, -1)}`, `host=${host}`, `path=${pathname.slice(1)}`];
    const text = await gitText(this.#folder, ['credential', 'fill'], [...asked, '']).catch((cause) => {
      throw new CliError(`${host} asks for a login, and git has none for it.`, {
        failure: 'unauthorized',
        hint: `Store one: git credential approve. Or run git fetch from ${host} once, with a credential helper.`,
        cause,
      });
    });
    const field = (name: string) => new RegExp(`^${name}=([^\\n]*)`, 'm').exec(text)?.[1] ?? '';
    this.#login = { username: field('username'), password: field('password') };
  }
}

/** What is said of a redirect, without its query, which can have secrets. undefined: it is none. */
function redirectIn({ status, url, headers }: Response): { message: string } | undefined {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null || !URL.canParse(location, url)) return undefined;
  const { origin, pathname } = new URL(location, url);
  return { message: `It moved. Use ${origin}${pathname.replace(/\/objects\/batch$/, '')}` };
}

/** Some servers write null for what others leave out. */
const readBody = (name: string, value: unknown) => asPrintable(name, value) ?? undefined;

const basicOf = ({ username, password }: Login) => Buffer.from(`${username}:${password}`).toString('base64');
