import * as z from 'zod';
import { bytesOrNull, flag } from '../../frame/contract/fields.ts';
import type { RepoFields } from '../../frame/contract/repos.ts';
import { outlookFields } from './contract.ts';
import { historyWeeksMax, listedWeeks } from './rules/history.ts';

/** What repos stored in each of the last weeks. */
export const weekFields = {
  shown: {
    weeks: z
      .array(bytesOrNull)
      .optional()
      .describe(
        `Stored bytes at the end of each week (Sunday, UTC), the oldest first; the last one is this week, at its last scan. null: unknown. ${historyWeeksMax} weeks in a response about one repo, ${listedWeeks} in a list with \`weeks=true\`.`,
      ),
  },
  set: {},
  query: { weeks: flag().describe(`true: with the last ${listedWeeks} weeks of each repo.`) },
  example: { weeks: [null, 12_100_000, 14_200_000, 14_700_000] },
  problems: [],
  subscription: outlookFields,
} as const satisfies RepoFields;
