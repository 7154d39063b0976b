import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ServerAnswer, ServerRequest } from './main.ts';
import type { Behaviour } from './server.ts';

/** The list server in a process of its own, so that its work is not in what is measured. */
export class ListServerProcess {
  readonly endpoint: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.endpoint = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<ListServerProcess> {
    const child = fork(fileURLToPath(new URL('main.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx', '--no-warnings'],
    });
    const { port } = await nextAnswer(child, 'listening');
    return new ListServerProcess(child, port);
  }

  async behave(behaviour: Partial<Behaviour>): Promise<void> {
    await this.#ask({ kind: 'behave', behaviour }, 'behaving');
  }

  /** Makes the objects of the bucket `n{count}`. @returns their bytes. */
  async prepare(count: number): Promise<number> {
    return (await this.#ask({ kind: 'prepare', count }, 'prepared')).totalBytes;
  }

  /** LIST requests since the last `behave`, and the CPU time of the server's process. */
  async stats(): Promise<{ requests: number; cpuMs: number }> {
    return this.#ask({ kind: 'stats' }, 'stats');
  }

  stop(): void {
    this.#child.disconnect();
  }

  #ask<K extends ServerAnswer['kind']>(
    request: ServerRequest,
    kind: K,
  ): Promise<Extract<ServerAnswer, { kind: K }>> {
    const answer = nextAnswer(this.#child, kind);
    this.#child.send(request);
    return answer;
  }
}

function nextAnswer<K extends ServerAnswer['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<ServerAnswer, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error(`The list server ended before it answered "${kind}".`));
    child.once('exit', gone);
    child.once('message', (answer: ServerAnswer) => {
      child.off('exit', gone);
      if (answer.kind === kind) resolve(answer as Extract<ServerAnswer, { kind: K }>);
      else reject(new Error(`The list server answered "${answer.kind}", not "${kind}".`));
    });
  });
}
