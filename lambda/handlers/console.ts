import { consoleDeps } from '../compositions/console.ts';
import type { ConsoleFiles } from '../core/rules/packed-console.ts';
import { answerConsole } from '../frame/api/console.ts';
import { overTls } from '../frame/api/http.ts';
import { deployed } from '../frame/aws/deployed.ts';
import type { HttpHandler } from '../frame/aws/function.ts';

/** GET /, GET /assets/{file}: the console. It knows no tenant: the page asks the API, as whoever has signed in. */
export function create({ files }: { readonly files: ConsoleFiles }): HttpHandler {
  return async (event) => overTls(event, answerConsole(event, await files.read()));
}

export const handler = await deployed(create, consoleDeps, async ({ files }) => void (await files.read()));
