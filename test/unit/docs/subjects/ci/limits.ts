import { exchangeRulesMax } from '../../../../../lambda/subjects/ci/rules/identities.ts';

export const ciLimits = {
  'A tenant': {
    'CI rules': exchangeRulesMax,
  },
};
