import { deliverAlerts } from './alerts.ts';
import { queueNotices } from './emails.ts';

export const alertBeat = {
  beat: async (deps: Parameters<typeof deliverAlerts>[0] & Parameters<typeof queueNotices>[0]) => ({
    alerts: await deliverAlerts(deps),
    notices: await queueNotices(deps),
  }),
};
