import { invitationsMax } from '../../../../../lambda/subjects/invitations/rules/invitations.ts';

export const invitationsLimits = {
  'A tenant': {
    'open invitations': invitationsMax,
  },
};
