import type { ConsoleFiles } from '../../core/rules/packed-console.ts';
import { answerConsole } from '../api/console.ts';
import { overTls } from '../api/http.ts';
import type { HttpHandler } from '../aws/function.ts';

/** GET /, GET /assets/{file}: the console. It knows no tenant: the page asks the API, as whoever has signed in. */
export function create({ files }: { readonly files: ConsoleFiles }): HttpHandler {
  return async (event) => overTls(event, answerConsole(event, await files.read()));
}
