import type { ServerMetrics } from './metrics.ts';
import { closeServer, createBoundedServer, listen } from './system/loopback-server.ts';

interface ProbesOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Pick<ServerMetrics, 'text'>;
  /** Whether to send requests to this server. It's asked often, so it makes no request of its own. */
  readonly isReady: () => boolean;
}

/** Serves `/live`, `/ready` and `/metrics` for whoever runs the server, where clients can't reach it. */
export async function openProbes(options: ProbesOptions): Promise<{ port: number; close(): Promise<void> }> {
  const { host, metrics, isReady } = options;
  const server = createBoundedServer((request, response) => {
    const say = (status: number, body: string, contentType = 'text/plain') =>
      void response.writeHead(status, { 'content-type': contentType }).end(body);
    switch (request.url) {
      case '/live':
        return say(200, 'live\n');
      case '/ready':
        return isReady() ? say(200, 'ready\n') : say(503, 'not ready\n');
      case '/metrics':
        return void metrics.text().then(
          ({ body, contentType }) => say(200, body, contentType),
          () => say(503, 'The figures could not be read. Retry.\n'),
        );
      default:
        return say(404, 'Use /live, /ready or /metrics.\n');
    }
  });
  const port = await listen(server, { host, port: options.port, usedBy: '--listen-metrics' });
  return { port, close: () => closeServer(server, 0) };
}
