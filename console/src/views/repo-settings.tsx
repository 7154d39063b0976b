import { tenantAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Card, inOrder } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText } from '../text.ts';
import type { RepoProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { LimitForm } from './limit-form.tsx';
import { cardsOf } from './subject-parts.ts';

/** What is decided of a repo. */
export const RepoSettings = (props: RepoProps) => (props.repo.kind ? <Own {...props} /> : <All {...props} />);

const cards = { 10: Limit, 90: Delete };
const Own = inOrder<RepoProps>(cards);
/** Those of the subjects are of Git LFS. */
const All = cardsOf('repoSettings', cards);

function Limit({ tenant, body, repo, send }: RepoProps) {
  return (
    <Card title="Storage limit">
      <LimitForm
        label={`Limit of ${repo.repo}`}
        of={repo.repo}
        limitBytes={repo.limitBytes}
        usedBytes={repo.storedBytes ?? 0}
        used="in use"
        below="Uploads to it fail until you delete that much. Downloads still work."
        save={(limitBytes) => send({ limitBytes })}
      />
      {body.limitBytes !== null && (
        <p class="note">
          Uploads must also fit the {bytesText(body.limitBytes)} of {tenant}.
        </p>
      )}
    </Card>
  );
}

function Delete({ tenant, repo: { repo }, nowMs }: RepoProps) {
  return (
    <DeleteByName
      title="Delete this repo"
      name={repo}
      request={(asked, then) =>
        change('DELETE /v1/tenants/{tenant}/repos/{repo}', { tenant, repo, ...asked }, then)
      }
      note="Uploads and downloads fail immediately. You can't undo this."
      nowMs={nowMs}
      onDeleted={() => go(tenantAddress(tenant, 'repos'))}
    />
  );
}
