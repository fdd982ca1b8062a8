import { ContractFailure } from './codes.js'

/** A glob as the search takes it: `./src/*.ts` begins in the directory, as `/src/*.ts` does. */
export const anchoredPattern = (pattern: string): string => pattern.replace(/^(?:\.\/+)+/u, '/')

/**
 * Explains a glob that found nothing since it begins where no search does.
 *
 * @param argument the name of the argument that it was.
 * @throws {ContractFailure} invalid_pattern
 */
export function explainPattern(pattern: string, argument: string, roots: readonly string[]): void {
  if (!/^(?:\/|~|\.\.(?:\/|$))/u.test(pattern)) return
  const root = roots.find((one) => pattern.startsWith(`${one}/`))
  const next =
    root === undefined
      ? `Give one such as \`src/**/*.ts\`, and the directory to look in as \`path\`.`
      : `Give \`${pattern.slice(root.length + 1)}\`${root === roots[0] ? '' : ` with \`path\`: \`${root}\``}.`
  throw new ContractFailure(
    'invalid_pattern',
    `No file matches \`${pattern}\`: \`${argument}\` is relative to the directory that is searched. ${next}`,
  )
}
