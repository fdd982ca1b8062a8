/** A skill as its file says. */
export interface ParsedSkill {
  name: string
  description: string
  /** What follows the frontmatter. */
  body: string
}

/** The most that is between the two lines of dashes. */
const MAX_FRONTMATTER = 16_384
/** The most of a description that goes into a prompt. */
const MAX_DESCRIPTION = 1_024

const frontmatter = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/u

/**
 * The parts of a `SKILL.md`.
 *
 * @throws {Error} in words, for what is no skill.
 */
export async function parseSkill(text: string): Promise<ParsedSkill> {
  const found = frontmatter.exec(text)
  if (found === null) throw new Error('it has no frontmatter between two lines of ---')
  const [whole, header = ''] = found
  if (header.length > MAX_FRONTMATTER) throw new Error('its frontmatter is too long')
  const { name, description } = await parseHeader(header)
  if (typeof name !== 'string' || name.length > 64 || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/u.test(name)) {
    throw new Error('its name must be lower-case words with hyphens between them, at most 64 characters')
  }
  if (typeof description !== 'string' || description.trim() === '') throw new Error('it has no description')
  const line = description.trim().replace(/\s+/gu, ' ')
  if (line.length > MAX_DESCRIPTION) throw new Error(`its description is longer than ${MAX_DESCRIPTION} characters`)
  return { name, description: line, body: text.slice(whole.length).trim() }
}

async function parseHeader(header: string): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml')
  let value: unknown
  try {
    value = parse(header, { maxAliasCount: 16, logLevel: 'error', customTags: [] })
  } catch (error) {
    throw new Error(`its frontmatter is no YAML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown'}`, {
      cause: error,
    })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('its frontmatter has no fields')
  return value as Record<string, unknown>
}
