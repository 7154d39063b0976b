/** What happened, for programs. The same id is the same event. */
export interface StageEvent {
  readonly id: string;
  readonly type: string;
  /** Such as `2026-11-21T05:00:00.000Z`. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}

/** Where the operator's own programs hear of tenants. */
export interface EventBus {
  /** @throws if some were not taken. Others may have been. */
  publish(events: readonly StageEvent[]): Promise<void>;
}

/** One e-mail to one address. */
interface Email {
  readonly tenant: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Ends the e-mails with one POST (RFC 8058). */
  readonly unsubscribeUrl: string | null;
}

/** Sends e-mails: SES, or what stands in for it. */
export interface Mailer {
  /** @throws if it was not taken. */
  send(email: Email): Promise<void>;
}

/** How others are told, and what may be reached for that. */
export interface NetPorts {
  readonly eventBus: EventBus;
  readonly mailer: Mailer;
  /** For tests and development: what is on this machine may be reached, by plain HTTP. */
  readonly allowsLoopback?: boolean;
}
