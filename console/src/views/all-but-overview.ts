import { Device, EmailLink, Join } from '../subjects/invitations/doors.tsx';
import { Status } from '../subjects/status/status.tsx';
import { Access } from './access.tsx';
import { Activity } from './activity.tsx';
import { Objects } from './objects.tsx';
import { Repo } from './repo.tsx';
import { Repos } from './repos.tsx';
import { Settings } from './settings.tsx';
import { Tenants } from './tenants.tsx';

/** Views that are fetched together, as they share most of what they need: a part for each would weigh a fifth more. */
export const views = {
  tenants: Tenants,
  status: Status,
  repos: Repos,
  repo: Repo,
  objects: Objects,
  activity: Activity,
  access: Access,
  settings: Settings,
};

/** What `#_join`, `#_device` and `#_email` show. */
export const doors = { Join, Device, EmailLink };
