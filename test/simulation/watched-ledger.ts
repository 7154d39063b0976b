import type { Input, Output } from '../../lambda/ports/ledger.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import type { Issued } from './promises.ts';

/** The ledger, which tells when a repo that was being deleted is opened again, and when a batch is granted something. */
export class WatchedLedger extends MemoryLedger {
  readonly #onOpening: (path: { tenant: string; repo: string }) => void;
  readonly #onIssue: (tenant: string, issued: Issued) => void;

  constructor(
    options: ConstructorParameters<typeof MemoryLedger>[0] & {
      onOpening: (path: { tenant: string; repo: string }) => void;
      onIssue: (tenant: string, issued: Issued) => void;
    },
  ) {
    const { onOpening, onIssue, ...rest } = options;
    super(rest);
    this.#onOpening = onOpening;
    this.#onIssue = onIssue;
  }

  override async issueReservation(input: Input<'issueReservation'>): Output<'issueReservation'> {
    const { tenant, reservationId, claims } = input;
    const reservation = this.inspect(tenant).reservations.find(({ id }) => id === reservationId);
    const outcome = await super.issueReservation(input);
    if (outcome === 'issued' && reservation) this.#onIssue(tenant, { reservation, claims });
    return outcome;
  }

  override async openRepo(input: Input<'openRepo'>): Output<'openRepo'> {
    const outcome = await super.openRepo(input);
    if (outcome === 'opened') this.#onOpening(input);
    return outcome;
  }
}
