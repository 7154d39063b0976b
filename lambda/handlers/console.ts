import { answerConsole } from '../api/console.ts';
import { overTls } from '../api/http.ts';
import { deployed } from '../aws/deployed.ts';
import type { HttpHandler } from '../aws/function.ts';
import { consoleDeps } from '../compositions/console.ts';
import type { ConsoleFiles } from '../rules/packed-console.ts';

/** GET /, GET /assets/{file}: the console. It knows no tenant: the page asks the API, as whoever has signed in. */
export function create({ files }: { readonly files: ConsoleFiles }): HttpHandler {
  return async (event) => overTls(event, answerConsole(event, await files.read()));
}

export const handler = await deployed(create, consoleDeps, async ({ files }) => void (await files.read()));
