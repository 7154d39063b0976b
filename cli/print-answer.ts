import type { ApiRequest } from './api-client.ts';
import type { CliContext } from './context.ts';
import { type ApiOptions, openClient } from './options.ts';

interface Asking<Body> extends ApiRequest<Body> {
  /** The token that the command needs, for a person. */
  readonly wanted?: string;
  /** The answer for a person, newline at its end. */
  readonly render: (body: Body) => string;
}

/** Asks the API once, and prints the answer: with `--json` as it came. @throws {CliError} */
export async function printAnswer<Body>(
  context: CliContext,
  options: ApiOptions,
  { wanted, render, ...request }: Asking<Body>,
): Promise<void> {
  const { body, text } = await openClient(options, context, wanted).send(request);
  context.out(options.json ? `${text}\n` : render(body));
}
