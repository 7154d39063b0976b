import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server } from 'node:http';

const channel = 'http.server.request.start';

/** Counts the LIST requests to a store in this process, by prefix. */
export class ListCounter {
  readonly #port: number;
  readonly #prefixes: string[] = [];

  constructor(storeUrl: string) {
    this.#port = Number(new URL(storeUrl).port);
    subscribe(channel, this.#onRequest);
  }

  /** The number of requests so far for keys of this tenant. */
  countOf(tenant: string): number {
    return this.#prefixes.filter((prefix) => prefix.startsWith(`${tenant}/`)).length;
  }

  close(): void {
    unsubscribe(channel, this.#onRequest);
  }

  readonly #onRequest = (message: unknown) => {
    const { request, server } = message as { request: IncomingMessage; server: Server };
    const address = server.address();
    if (typeof address !== 'object' || address?.port !== this.#port) return;
    const { searchParams } = new URL(request.url ?? '', 'http://store');
    if (searchParams.has('list-type')) this.#prefixes.push(searchParams.get('prefix') ?? '');
  };
}
