import { useId } from 'preact/hooks';

/** A labeled line of text, and a note below it. */
export function TextField(props: {
  label: string;
  value: string;
  onType: (value: string) => void;
  note?: string;
  placeholder?: string;
  /** Where the keyboard starts in a dialog. */
  isFirst?: boolean;
}) {
  const { label, value, onType, note, placeholder, isFirst = false } = props;
  const id = useId();
  return (
    <>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        class={isFirst ? 'first' : ''}
        spellcheck={false}
        autocomplete="off"
        value={value}
        {...(placeholder !== undefined && { placeholder })}
        {...(note !== undefined && { 'aria-describedby': `${id}-note` })}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
      {note !== undefined && (
        <p class="note" id={`${id}-note`}>
          {note}
        </p>
      )}
    </>
  );
}

/** A labeled choice of one. */
export function SelectField<Value extends string>(props: {
  label: string;
  value: Value;
  /** Values with their text. */
  options: readonly (readonly [Value, string])[];
  onChoose: (value: Value) => void;
}) {
  const { label, value, options, onChoose } = props;
  const id = useId();
  return (
    <>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as Value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
}
