/** Functions that a child process offers to its parent. Inputs and results are what JSON can carry. */
export type ChildApi = Readonly<Record<string, (input: never) => unknown>>;

/** A message from the parent: which function to call, and with what. */
export interface Call {
  readonly name: string;
  readonly input: unknown;
}

/** A message from the child: first what it passed as `ready`, then the result of each call. */
export interface Reply {
  readonly value?: unknown;
}

/**
 * Runs in the child: lets the parent call these functions, one at a time. The child exits when its parent is gone.
 *
 * @param ready passed to the parent, which waits for it before its first call.
 */
export function serve(api: ChildApi, ready?: unknown): void {
  const reply = (value: unknown) => process.send?.({ value } satisfies Reply);
  process.on('message', async ({ name, input }: Call) => {
    const run = api[name] as ((input: unknown) => unknown) | undefined;
    if (!run) throw new Error(`This process has no function "${name}".`);
    reply(await run(input));
  });
  process.on('disconnect', () => process.exit(0));
  reply(ready);
}
