import type { ChunkMessage } from '../../../../lambda/subjects/chunks/messages.ts';
import type { World } from '../../world.ts';

const minute = 60_000;
/** The visibility timeout: a message whose function died comes again after it. */
const hiddenMs = 20 * minute;
/** Deliveries of a message, at most. */
const attemptsMax = 20;

/**
 * A standard queue of SQS: it delivers each message once or twice, several at a time, in any order, mostly soon, sometimes
 * much later. One that failed comes again, until it is a dead letter, which nobody looks at.
 */
export class ChunkQueueSim {
  readonly #world: World;
  readonly #work: (message: ChunkMessage) => Promise<'done' | 'failed' | 'died'>;

  constructor(world: World, work: (message: ChunkMessage) => Promise<'done' | 'failed' | 'died'>) {
    this.#world = world;
    this.#work = work;
  }

  send(messages: readonly ChunkMessage[]): void {
    const { random, weather } = this.#world;
    for (const message of messages)
      for (let copies = !weather.calm && random.chance(0.1) ? 2 : 1; copies > 0; copies -= 1)
        this.#deliver(message, 1, this.#delayMs());
  }

  #delayMs(): number {
    const { random, weather } = this.#world;
    if (weather.calm || random.chance(0.8)) return random.int(1, 300);
    return random.chance(0.8) ? random.int(300, minute) : random.int(minute, 60 * minute);
  }

  #deliver(message: ChunkMessage, receiveCount: number, afterMs: number): void {
    const { random, weather } = this.#world;
    this.#world.start(afterMs, async () => {
      const outcome = await this.#work(message);
      const isUnacknowledged = outcome === 'done' && !weather.calm && random.chance(0.03);
      if ((outcome === 'done' && !isUnacknowledged) || receiveCount === attemptsMax) return;
      const againMs = outcome === 'failed' ? random.int(2_000, minute) : hiddenMs;
      this.#deliver(message, receiveCount + 1, againMs);
    });
  }
}
