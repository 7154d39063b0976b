/** One of a few, as buttons side by side. */
export function Choice<Value extends string | number>(props: {
  name: string;
  label: string;
  values: readonly Value[];
  value: Value;
  onChoose: (value: Value) => void;
  textOf?: (value: Value) => string;
}) {
  const { name, label, values, value, onChoose, textOf = String } = props;
  return (
    <fieldset class="choice">
      <legend class="hidden">{label}</legend>
      {values.map((each) => (
        <label key={each}>
          <input type="radio" name={name} checked={value === each} onChange={() => onChoose(each)} />
          <span>{textOf(each)}</span>
        </label>
      ))}
    </fieldset>
  );
}
