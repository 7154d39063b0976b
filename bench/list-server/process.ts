import type { Child } from '../processes.ts';
import { ownCpuMs, serve } from '../serve.ts';
import { ListServer } from './server.ts';

const server = new ListServer();

const api = {
  setLatencyMs: (latencyMs: number): void => {
    server.latencyMs = latencyMs;
  },
  /** The bytes of all objects in the bucket `n{count}`. */
  bytesOf: (count: number): number => server.keySet(count).totalBytes,
  /** LIST requests and CPU time of this process so far. */
  stats: () => ({ requests: server.requests, cpuMs: ownCpuMs() }),
};

/** The list server in its own process, so that its work isn't measured. It is ready with its endpoint. */
export type ListServerProcess = Child<typeof api, string>;

serve(api, `http://127.0.0.1:${await server.listen()}`);
