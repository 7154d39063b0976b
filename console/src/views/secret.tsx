import { Code } from '../parts.tsx';
import { Dialog } from './dialog.tsx';

/** Shows a secret, once: it's nowhere after *Done*. */
export function Secret(props: { title: string; secret: string; name: string; onDone: () => void }) {
  const { title, secret, name, onDone } = props;
  return (
    <Dialog title={title} onClose={onDone}>
      <p>Copy it now. You won't see it again.</p>
      <Code text={secret} name={name} />
      <div class="answers">
        <button type="button" class="primary" onClick={onDone}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
