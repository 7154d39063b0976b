import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button, Problem } from '../parts.tsx';
import './form.css';

export type Values<Name extends string = string> = Readonly<Record<Name, string>>;

/** A labeled line of text, or a choice. */
export interface Field<Name extends string = string> {
  readonly name: Name;
  readonly label: string;
  readonly note?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  /** To choose from, with their text. */
  readonly options?: readonly (readonly [string, string])[];
  /** Several can be chosen: the value has spaces between them. */
  readonly isMany?: boolean;
  readonly below?: ComponentChildren;
}

/** Fields with their values, and the button that sends them. */
export interface Fillable<Name extends string = string> {
  readonly action: string;
  readonly start?: Values<Name>;
  /** As the values are, others can be needed. */
  fields?(values: Values<Name>): readonly Field<Name>[];
  isReady?(values: Values<Name>): boolean;
  /** @returns why it could not be done. */
  run(values: Values<Name>): Promise<string | undefined>;
}

/**
 * @param props.keep what it does can't be undone: no *Enter* does it, and the keyboard starts at the button of this text.
 */
export function Form<Name extends string>(
  props: Fillable<Name> & {
    keep?: string | undefined;
    onCancel?: () => void;
    children?: ComponentChildren;
  },
) {
  const { action, start, isReady, run, keep, onCancel, children } = props;
  const [values, setValues] = useState((start ?? {}) as Values<Name>);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const [isSaved, setIsSaved] = useState(false);
  const isOff = isReady?.(values) === false;
  const go = async () => {
    if (isBusy || isOff) return;
    setIsBusy(true);
    const why = await run(values);
    setProblem(why);
    setIsSaved(why === undefined);
    setIsBusy(false);
  };
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        if (!keep) void go();
      }}
    >
      {props.fields?.(values).map((field) => (
        <FieldOf
          key={field.name}
          field={field}
          value={values[field.name]}
          onValue={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      {children}
      <Problem text={problem} />
      <div class="row" aria-busy={isBusy}>
        {keep ? (
          <Button text={action} kind="danger" isDisabled={isOff} onPress={go} />
        ) : (
          <button type="submit" class="primary" disabled={isOff}>
            {action}
          </button>
        )}
        {onCancel && <Button text={keep ?? 'Cancel'} kind={keep ? 'first' : ''} onPress={onCancel} />}
        <span class="note" role="status">
          {isSaved && isOff && 'Saved'}
        </span>
      </div>
    </form>
  );
}

function FieldOf(props: { field: Field; value: string; onValue: (value: string) => void }) {
  const { field, value, onValue } = props;
  const { label, note, placeholder, isRequired, options, isMany, below } = field;
  const id = useId();
  const chosen = isMany ? value.split(' ') : [value];
  const own = { id, 'aria-describedby': note && `${id}-note` };
  return (
    <>
      <label for={id}>{label}</label>
      {options ? (
        <select
          {...own}
          {...(isMany && { multiple: true, size: 4 })}
          onChange={({ currentTarget }) =>
            onValue([...currentTarget.selectedOptions].map((each) => each.value).join(' '))
          }
        >
          {options.map(([each, text]) => (
            <option key={each} value={each} selected={chosen.includes(each)}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...own}
          type="text"
          spellcheck={false}
          autocomplete="off"
          value={value}
          placeholder={placeholder}
          required={isRequired}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
      {note && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
      {below}
    </>
  );
}
