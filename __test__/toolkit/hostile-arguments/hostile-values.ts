const trap = (): never => {
  throw new Error('trap')
}
const traps = Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((name) => [name, trap]))

/** What throws whatever is done with it. */
export const trapped = (): object => new Proxy({}, traps)

/** What somebody may give who does not ask the compiler, by its name. */
export const hostileValues: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  'a number': () => 7,
  'a truth': () => true,
  'a symbol': () => Symbol('hostile'),
  'a list': () => [[7]],
  'a function': () => () => 7,
  'an object with a name that is no option': () => ({ nope: 1 }),
  'an object whose getters throw': () =>
    Object.defineProperties({}, Object.fromEntries(usual.map((name) => [name, { enumerable: true, get: trap }]))),
  'a proxy that throws': trapped,
}

/** Names that are looked at by one function or another. */
const usual = `name description schema execute tools journal runId nodeId rootDir signal store args requires id model apiKey
  baseUrl workspace manifest permission pattern code summary outcome type path content`.split(/\s+/u)
