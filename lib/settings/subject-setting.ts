import type { z } from 'zod';

/** A setting of a stage that a subject has. */
export interface SubjectSetting {
  readonly schema: z.ZodType;
  /** As it becomes part of the code (`stageJson`). undefined: as by default. */
  readonly toJson: (value: never) => string | undefined;
  /** The secrets that it names, which its functions may read. */
  readonly secretArns?: (value: never) => readonly string[];
}
