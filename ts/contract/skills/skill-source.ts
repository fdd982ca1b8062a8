import { invalid } from '../../core/options.js'

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

/** @throws {ToolError} INVALID_INPUT for an invalid list of sources. */
export function checkSkillSources(sources: unknown): asserts sources is SkillSource[] {
  if (!Array.isArray(sources)) throw invalid('manifest.skills must be an array.')
  for (const [index, source] of (sources as unknown[]).entries()) {
    const { bundled, path, url } = (typeof source === 'object' && source !== null ? source : {}) as Record<string, unknown>
    const given = [bundled, path, url].filter((value) => value !== undefined)
    if (given.length !== 1 || typeof given[0] !== 'string' || given[0] === '' || given[0].includes('\0')) {
      throw invalid(`manifest.skills[${index}] must be { bundled }, { path } or { url }.`)
    }
    if (url !== undefined && !isFetchable(url as string)) {
      throw invalid(`manifest.skills[${index}].url must begin with https://.`)
    }
  }
}

/** @throws {ToolError} INVALID_INPUT */
export function checkSkillOptions(options: unknown): asserts options is SkillOptions {
  if (typeof options !== 'object' || options === null) throw invalid('skills must be an object.')
  const unknown = Object.keys(options).find((key) => key !== 'project' && key !== 'home')
  if (unknown !== undefined) throw invalid(`skills.${unknown} is not known; there are project and home.`)
  const { project, home } = options as Record<string, unknown>
  if (project !== undefined && typeof project !== 'boolean') throw invalid('skills.project must be true or false.')
  if (home !== undefined && home !== false && (typeof home !== 'string' || home === ''))
    throw invalid('skills.home must be a path or false.')
}

function isFetchable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname))
}
