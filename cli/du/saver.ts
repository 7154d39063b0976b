import type { CliContext } from '../context.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type CheckpointFile, ReplacedFileError } from './checkpoint-file.ts';

/** Saves a running scan now and then. That needs no request: what it would leave is known at any time. */
export class Saver {
  readonly #file: CheckpointFile;
  readonly #context: CliContext;
  readonly #everyMs: number;
  readonly #onReplaced: (error: ReplacedFileError) => void;
  #checkpoint: () => Checkpoint | undefined = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #isSaving = false;
  #hasWarned = false;

  /** @param input.onReplaced another process has written the file: this one must end. */
  constructor(input: {
    file: CheckpointFile;
    context: CliContext;
    everyMs: number;
    onReplaced: (error: ReplacedFileError) => void;
  }) {
    this.#file = input.file;
    this.#context = input.context;
    this.#everyMs = input.everyMs;
    this.#onReplaced = input.onReplaced;
  }

  begin(checkpoint: () => Checkpoint | undefined): void {
    this.#checkpoint = checkpoint;
    this.#timer = setInterval(() => this.saveSoon(), this.#everyMs);
    this.saveSoon();
  }

  /** Saves in the background. A scan goes on if that fails: it may succeed the next time. */
  saveSoon(): void {
    if (this.#isSaving) return;
    this.#isSaving = true;
    this.#save()
      .catch((error: Error) => this.#warn(error))
      .finally(() => {
        this.#isSaving = false;
      });
  }

  /**
   * Saves for the last time.
   *
   * @returns false if there was nothing to save, so that what was saved before stands.
   * @throws {CliError} when it cannot be saved.
   */
  async end(): Promise<boolean> {
    this.stop();
    return this.#save();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #save(): Promise<boolean> {
    const checkpoint = this.#checkpoint();
    if (checkpoint === undefined) return false;
    await this.#file.save(checkpoint);
    return true;
  }

  #warn(error: Error): void {
    if (error instanceof ReplacedFileError) this.#onReplaced(error);
    else if (!this.#hasWarned) {
      this.#hasWarned = true;
      this.#context.err(`\nwarning: ${error.message} The scan goes on, and tries it again.\n`);
    }
  }
}
