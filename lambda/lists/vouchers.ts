/** Who vouches for tokens of their kind. */

export { ruleVouches as ci } from '../subjects/ci/rule-store.ts';
export { organizationVouches as signIn } from '../subjects/sign-in/user-store.ts';
