import type { Behaviour } from '../../test/support/list-server/server.ts';
import { Child } from '../child/child.ts';
import type { ListServerApi } from './list-server.ts';

/** The list server in its own process, so that its work is not measured. */
export class ListServerProcess {
  readonly endpoint: string;
  readonly #child: Child<ListServerApi, number>;

  private constructor(child: Child<ListServerApi, number>) {
    this.#child = child;
    this.endpoint = `http://127.0.0.1:${child.ready}`;
  }

  static async start(): Promise<ListServerProcess> {
    return new ListServerProcess(await Child.fork(new URL('list-server.ts', import.meta.url)));
  }

  async behave(behaviour: Partial<Behaviour>): Promise<void> {
    await this.#child.call('behave', behaviour);
  }

  /** Makes the objects of the bucket `n{count}`. @returns their bytes. */
  prepare(count: number): Promise<number> {
    return this.#child.call('prepare', count);
  }

  /** LIST requests since the last `behave`, and the CPU time of the server's process. */
  stats(): Promise<{ requests: number; cpuMs: number }> {
    return this.#child.call('stats', undefined);
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
