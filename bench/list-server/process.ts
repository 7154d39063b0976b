import type { Child } from '../child/child.ts';
import { serve } from '../child/serve.ts';
import { type Behaviour, ListServer } from './server.ts';

const server = new ListServer();

const api = {
  behave: (behaviour: Partial<Behaviour>) => server.behave(behaviour),
  /** Makes the objects of the bucket `n{count}`. @returns their bytes. */
  prepare: (count: number) => server.keySet(count).totalBytes,
  /** The same of the bucket `v{count}`, whose objects are computed. */
  prepareVast: (count: number) => server.vastKeys(count).totalBytes,
  /** LIST requests since the last `behave`, and the CPU time of this process. */
  stats: () => {
    const { user, system } = process.cpuUsage();
    return { requests: server.requests, cpuMs: (user + system) / 1000 };
  },
};

export type ListServerApi = typeof api;

/** The list server in its own process, so that its work is not measured. It is ready with its endpoint. */
export type ListServerProcess = Child<ListServerApi, string>;

serve(api, `http://127.0.0.1:${await server.listen()}`);
