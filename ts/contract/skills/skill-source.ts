import { boolean, type Check, type Checks, group, invalid, isNames, must, optional } from '../../core/options.js'

/** A source of skills besides the workspace and the user's home. */
export type SkillSource =
  /** A directory of skills that the host brings along. */
  | { bundled: string }
  /** A configured directory of skills. */
  | { path: string }
  /** One `SKILL.md` by https, or by http on this machine. It is cached below `userData`, if there is one. */
  | { url: string }

/** How skills are found. */
export interface SkillOptions {
  /** Whether the workspace, and the directories around it, are looked through. @default true */
  project?: boolean | undefined
  /** The user's home; `false` for none. @default the home directory */
  home?: string | false | undefined
}

export const skillSource: Check<SkillSource> = (source, name) => {
  const { bundled, path: configured, url } = (source ?? {}) as Record<string, unknown>
  const values = [bundled, configured, url].filter((value) => value !== undefined)
  if (values.length !== 1 || !isNames(values)) throw invalid(`${name} must be { bundled }, { path } or { url }.`)
  if (url !== undefined && !isFetchable(url as string)) throw invalid(`${name}.url must begin with https://.`)
  return { ...(source as SkillSource) }
}

export const skillOptions = group({
  project: optional(boolean),
  home: optional(must<string | false>((home) => home === false || (typeof home === 'string' && home !== ''), 'a path or false')),
} satisfies Checks<SkillOptions>)

function isFetchable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname))
}
