import type { OverviewPart } from '../../view-props.ts';

export const hosts: OverviewPart = {
  repoPills: {
    30: ({ gitHost }, isTitle) => gitHost && (isTitle ? `${gitHost.host}: ${gitHost.repo}` : gitHost.host),
  },
};
