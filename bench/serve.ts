/** A message between a child process and its parent. JSON must be able to carry the value. */
export interface Message {
  readonly value?: unknown;
}

/**
 * Runs in the child: answers its parent's questions, one at a time. The child exits when its parent is gone.
 *
 * @param ready passed to the parent, which waits for it before its first question.
 */
export function serve<Question>(answer: (question: Question) => Promise<unknown>, ready?: unknown): void {
  const send = (value: unknown) => process.send?.({ value } satisfies Message);
  process.on('message', async ({ value }: Message) => send(await answer(value as Question)));
  process.on('disconnect', () => process.exit(0));
  send(ready);
}
