/** What a plain JSON Schema finds in arguments, in the words of its validator: names, required ones, and types. Values are checked elsewhere. */

type Schema = Readonly<Record<string, unknown>>

/** The findings, as `/path: …`; none for arguments of the right form. */
export function formFindings(schema: Schema, args: unknown): string[] {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return [`/: Instance type "${typeOf(args)}" is invalid. Expected "object"`]
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  const required = (schema['required'] ?? []) as readonly string[]
  const given = args as Readonly<Record<string, unknown>>
  const known = Object.entries(given).flatMap(([name, value]) => {
    const at = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) return [`${at}: there is no such property`]
    const expected = property['type']
    return value === undefined || typeof expected !== 'string' || isOf(value, expected)
      ? []
      : [`${at}: Instance type "${typeOf(value)}" is invalid. Expected "${expected}"`]
  })
  const missing = required.filter((name) => given[name] === undefined)
  return [...known, ...missing.map((name) => `/: Instance does not have required property "${name}"`)]
}

function isOf(value: unknown, type: string): boolean {
  const is = typeOf(value)
  return is === type || (is === 'number' && type === 'integer')
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
