import type { Deps } from '../../local/deps.ts';
import { recordingJobs } from './memory/deps.ts';
import type { TestedSubject } from './subject.ts';
import * as subjects from './subjects.ts';

/** What subjects' queues have, and what the schedule sends to them. */
export class QueuedWork {
  readonly #queues = Object.values<TestedSubject>(subjects).flatMap(({ queues = {} }) =>
    Object.values(queues).map((queue) => ({ ...queue, ...recordingJobs() })),
  );
  /** Of the dependencies. */
  readonly ports: Partial<Deps> = Object.fromEntries(this.#queues.map(({ port, queue }) => [port, queue]));

  async wake(deps: Deps): Promise<void> {
    for (const { wake } of this.#queues) await wake(deps);
  }

  async work(deps: Deps, deadlineMs: number): Promise<void> {
    for (const { messages, work } of this.#queues)
      for (const job of messages.splice(0)) await work(deps, job as never, deadlineMs);
  }
}
