import { useId, useState } from 'preact/hooks';
import { useSaved } from '../requests.ts';
import { bytesText } from '../text.ts';
import { useDialog } from './dialog.tsx';
import { Form } from './form.tsx';
import { consequence, isUnchanged, limitOf, sizeUnits, type TypedLimit, typedLimit } from './limit.ts';

const limitText = (bytes: number | null) => (bytes === null ? 'no limit' : bytesText(bytes));

/** Number, unit and *No limit*. */
export function LimitField(props: {
  label: string;
  typed: TypedLimit;
  onType: (typed: TypedLimit) => void;
  /** The id of what says what it would do. */
  describedBy?: string;
  mayBeNone?: boolean;
}) {
  const { label, typed, onType, describedBy, mayBeNone = true } = props;
  const id = useId();
  return (
    <>
      <label for={id}>{label}</label>
      <div class="row size">
        <input
          id={id}
          type="text"
          inputMode="decimal"
          autocomplete="off"
          disabled={typed.isNone}
          value={typed.number}
          aria-describedby={describedBy}
          onInput={({ currentTarget }) => onType({ ...typed, number: currentTarget.value })}
        />
        <select
          aria-label="Unit"
          disabled={typed.isNone}
          value={typed.unit}
          onChange={({ currentTarget }) => onType({ ...typed, unit: currentTarget.value })}
        >
          {sizeUnits.map((unit) => (
            <option key={unit}>{unit}</option>
          ))}
        </select>
        {mayBeNone && (
          <label class="check">
            <input
              type="checkbox"
              checked={typed.isNone}
              onChange={({ currentTarget }) => onType({ ...typed, isNone: currentTarget.checked })}
            />{' '}
            No limit
          </label>
        )}
      </div>
    </>
  );
}

/** A limit, what it would do, and a question before it goes below what is used. */
export function LimitForm(props: {
  label: string;
  /** Of a tenant or repo by its name. */
  of: string;
  /** As it is. null: no limit. undefined: there was none to change yet, and `start` is proposed. */
  limitBytes: number | null | undefined;
  start?: number;
  usedBytes: number;
  /** Such as `in use`. */
  used: string;
  /** What happens below what is used. */
  below: string;
  mayBeNone?: boolean;
  /** @returns why it could not be saved. */
  save: (limitBytes: number | null) => Promise<string | undefined>;
}) {
  const { label, of, limitBytes, start = 0, usedBytes, used, below, mayBeNone = true, save } = props;
  const [now, setNow] = useSaved(limitBytes);
  const [changed, setChanged] = useState<TypedLimit>();
  const { dialog, ask } = useDialog();
  const noteId = useId();
  const typed = changed ?? typedLimit(now === undefined ? start : now);
  const wanted = limitOf(typed);
  const isReady = wanted !== undefined && (now === undefined || !isUnchanged(typed, now));
  const isBelow = typeof wanted === 'number' && wanted < usedBytes;
  const send = async () => {
    const problem = wanted === undefined ? undefined : await save(wanted);
    if (problem === undefined) {
      setNow(wanted);
      setChanged((latest) => (latest === changed ? undefined : latest));
    }
    return problem;
  };
  const sendOrAsk = async () => {
    if (!isBelow) return send();
    ask({
      title: 'Below current use',
      action: `Set ${bytesText(wanted)}`,
      keep: `Keep ${limitText(now ?? null)}`,
      text: (
        <>
          <p>
            {of} has {bytesText(usedBytes)} {used}. The new limit is {bytesText(wanted)}.
          </p>
          <p>{below}</p>
        </>
      ),
      run: send,
    });
    return undefined;
  };
  return (
    <>
      <Form action="Save" isReady={() => isReady} run={sendOrAsk}>
        <LimitField
          label={label}
          typed={typed}
          mayBeNone={mayBeNone}
          describedBy={noteId}
          onType={setChanged}
        />
        <p class={isBelow && isReady ? 'note bad' : 'note'} id={noteId}>
          {consequence({ limitBytes: isReady ? wanted : undefined, usedBytes, used, below })}
        </p>
      </Form>
      {dialog}
    </>
  );
}
