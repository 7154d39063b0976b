import { Random } from '../../test/support/random.ts';
import type { Child } from '../processes.ts';
import { serve } from '../serve.ts';
import { ListServer } from './server.ts';

const server = new ListServer();

const api = {
  /** Of each page: drawn between the two. */
  setLatencyMs: (fromMs: number, toMs: number): void => {
    const random = new Random(1);
    server.latencyMs = () => fromMs + (toMs - fromMs) * random.next();
  },
  /** What the bucket `n{count}` holds. */
  truthOf: (count: number) => {
    const { objectCount, totalBytes } = server.keySet(count);
    return { objectCount, totalBytes };
  },
  /** LIST requests so far. */
  requests: () => server.requests,
};

/** The list server in its own process, so that its work isn't measured. It is ready with its endpoint. */
export type ListServerProcess = Child<typeof api, string>;

serve(api, `http://127.0.0.1:${await server.listen()}`);
