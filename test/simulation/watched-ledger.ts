import type { Input, Output } from '../../lambda/ports/ledger.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';

/** The ledger, which tells when a repo that was being deleted is opened again. */
export class WatchedLedger extends MemoryLedger {
  readonly #onOpening: (path: { tenant: string; repo: string }) => void;

  constructor(
    options: ConstructorParameters<typeof MemoryLedger>[0] & {
      onOpening: (path: { tenant: string; repo: string }) => void;
    },
  ) {
    const { onOpening, ...rest } = options;
    super(rest);
    this.#onOpening = onOpening;
  }

  override async openRepo(input: Input<'openRepo'>): Output<'openRepo'> {
    const outcome = await super.openRepo(input);
    if (outcome === 'opened') this.#onOpening(input);
    return outcome;
  }
}
