import { historyDaysMax } from '../../../../../lambda/subjects/history/rules/history.ts';

export const historyLimits = {
  'What is kept': {
    'History of usage': `${historyDaysMax} days`,
  },
};
