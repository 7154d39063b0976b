/** One step of an export. */
export type ExportStep =
  /** Whatever comes next: plan, hand out work again, finish, or remove what is left. */
  | { readonly kind: 'advance' }
  /** Remove what lies in the folder of an export that has no record. */
  | { readonly kind: 'forget' }
  /** One unit of a round's work. */
  | {
      readonly kind: 'unit';
      readonly round: number;
      readonly state: 'hashing' | 'copying';
      readonly unit: number;
    };

export interface ExportMessage {
  readonly tenant: string;
  readonly exportId: string;
  readonly step: ExportStep;
}

/**
 * The queue of steps. It delivers each at least once, several at a time, in any order. A step that fails is delivered
 * again.
 */
export interface ExportQueue {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(messages: readonly ExportMessage[]): Promise<void>;
}
