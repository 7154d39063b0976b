import { Access } from './access.tsx';
import { Activity } from './activity.tsx';
import { Settings } from './settings.tsx';

/** Views that are fetched together, as they share most of what they need: a part for each would weigh more. */
export const teamViews = { activity: Activity, access: Access, settings: Settings };
