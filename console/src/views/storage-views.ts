import { Objects } from './objects.tsx';
import { Repo } from './repo.tsx';
import { Repos } from './repos.tsx';

/** Views that are fetched together, as they share most of what they need: a part for each would weigh more. */
export const storageViews = { repos: Repos, repo: Repo, objects: Objects };
