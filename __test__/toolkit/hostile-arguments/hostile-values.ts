/** Values that a caller who does not ask the compiler may pass, by their names. */
export const hostileValues: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  'a number': () => 7,
  'a truth': () => true,
  'a symbol': () => Symbol('hostile'),
  'a list': () => [[7]],
  'a function': () => () => 7,
  'an object with a name that is no option': () => ({ nope: 1 }),
}
