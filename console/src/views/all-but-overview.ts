import { Access } from './access.tsx';
import { Activity } from './activity.tsx';
import { Objects } from './objects.tsx';
import { Repo } from './repo.tsx';
import { Repos } from './repos.tsx';
import { Settings } from './settings.tsx';
import { partsByName } from './subject-parts.ts';
import { Tenants } from './tenants.tsx';

/** Views that are fetched together, as they share most of what they need: a part for each would weigh a fifth more. */
export const views: Readonly<Record<string, unknown>> = {
  tenants: Tenants,
  repos: Repos,
  repo: Repo,
  objects: Objects,
  activity: Activity,
  access: Access,
  settings: Settings,
  ...partsByName('views'),
};

export const doors = partsByName('doors');
