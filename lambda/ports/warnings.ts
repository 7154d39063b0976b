import type { NumberedWarning, Warning, WarningLevel } from '../domain/warning.ts';

/** Of a tenant, warnings that nobody has handed over yet: with more, no other is raised until they are. */
export const pendingWarningsMax = 20;

/** What is known of a tenant's warnings. */
export interface WarningState {
  readonly level: WarningLevel;
  /** Those that are to be handed over, the oldest first. */
  readonly pending: readonly NumberedWarning[];
}

/**
 * Which level each tenant is on, and the warnings that are to be handed over. One conditional write decides that a warning
 * is raised and keeps it: whoever loses the race raises nothing, and nothing that is raised is lost.
 */
export interface Warnings {
  /** Strongly consistent. @throws {LedgerUnavailableError} */
  read(tenant: string): Promise<WarningState>;
  /**
   * Changes the level and raises the warning, if the level is still the warning's previous one, no newer epoch has changed
   * or settled it, and fewer than {@link pendingWarningsMax} are pending.
   *
   * @throws {LedgerUnavailableError} It may have been raised.
   */
  raiseLevel(input: {
    tenant: string;
    epoch: number;
    warning: Extract<Warning, { kind: 'level' }>;
  }): Promise<'raised' | 'not-raised'>;
  /**
   * Raises the warning, if none was on this day or a later one.
   *
   * @throws {LedgerUnavailableError} It may have been raised.
   */
  raiseFull(input: {
    tenant: string;
    day: string;
    warning: Extract<Warning, { kind: 'full' }>;
  }): Promise<'raised' | 'not-raised'>;
  /** From now on no epoch before this changes the level: its limit is no more. @throws {LedgerUnavailableError} */
  ignoreBefore(input: { tenant: string; epoch: number }): Promise<void>;
  /** Those up to this number are handed over. @throws {LedgerUnavailableError} They stay pending, or not. */
  settle(input: { tenant: string; seq: number }): Promise<void>;
  /** Some tenants with pending warnings. Eventually consistent. @throws {LedgerUnavailableError} */
  listPending(input: { tenantsMax: number }): Promise<readonly string[]>;
  /** Forgets the tenant. @throws {LedgerUnavailableError} */
  forget(tenant: string): Promise<void>;
}
