import type { CliContext } from './context.ts';

/** Commands that git-lfs starts beside a push, where memory counts: so they load no other one. */
export const alone: Readonly<Record<string, () => Promise<{ run(context: CliContext): Promise<void> }>>> = {
  agent: () => import('./subjects/chunks/agent.ts'),
};
