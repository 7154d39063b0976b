import { issuersFromJson } from '../../subjects/ci/rules/identities.ts';

declare const stageJson: { readonly identityIssuers: string | undefined };

/** Whose identity tokens the stage takes. */
export const stageIssuers = () => ({ issuers: issuersFromJson(stageJson.identityIssuers) });
