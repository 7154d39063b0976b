import { type Behaviour, ListServer } from './server.ts';

/** What the benchmark asks of the server's process. */
export type ServerRequest =
  | { readonly kind: 'behave'; readonly behaviour: Partial<Behaviour> }
  | { readonly kind: 'prepare'; readonly count: number }
  | { readonly kind: 'stats' };

export type ServerAnswer =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'behaving' }
  | { readonly kind: 'prepared'; readonly totalBytes: number }
  | { readonly kind: 'stats'; readonly requests: number; readonly cpuMs: number };

const server = new ListServer();
const answer = (message: ServerAnswer) => void process.send?.(message);

process.on('message', (request: ServerRequest) => {
  switch (request.kind) {
    case 'behave':
      server.behave(request.behaviour);
      return answer({ kind: 'behaving' });
    case 'prepare':
      return answer({ kind: 'prepared', totalBytes: server.keySet(request.count).totalBytes });
    case 'stats': {
      const { user, system } = process.cpuUsage();
      return answer({ kind: 'stats', requests: server.requests, cpuMs: (user + system) / 1000 });
    }
  }
});
// The benchmark is gone: so is its server.
process.on('disconnect', () => process.exit(0));
answer({ kind: 'listening', port: await server.listen() });
