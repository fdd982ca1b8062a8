import { lstat, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { boundedNames } from './bounded-names.js'
import { parseSkill, readRemoteSkill, ownersOf, readPlainFile, type TrustedOwners } from './skill-file.js'
import type { SkillOptions, SkillSource } from './skill-source.js'

export interface FoundSkill {
  name: string
  description: string
  /** Its file, without links, or its address. */
  from: string
  /** Reads its body again, with the same checks as before. */
  load: () => Promise<string>
}

export interface SkillSearch extends SkillOptions {
  roots: readonly string[]
  sources?: readonly SkillSource[] | undefined
  /** The directory in which remote skills are cached. */
  userData?: string | undefined
}

const folders = ['.agents/skills', '.claude/skills']
const MAX_SKILLS = 500

/** Finds skills in order of precedence: the first one of a name wins. Invalid skills are left out with a warning. */
export async function discoverSkills(search: SkillSearch): Promise<{ skills: FoundSkill[]; warnings: string[] }> {
  const skills = new Map<string, FoundSkill>()
  const warnings: string[] = []
  const add = (skill: FoundSkill): void => {
    const first = skills.get(skill.name)
    if (first === undefined) skills.set(skill.name, skill)
    else if (first.from !== skill.from)
      warnings.push(`Skill ${skill.name} of ${skill.from} is left out: ${first.from} has the name already.`)
  }
  const owners = await ownersOf(search.roots)
  for (const { directory, isChosen } of directoriesOf(search)) {
    for (const skill of await skillsIn(directory, isChosen, owners, warnings)) add(skill)
  }
  for (const source of search.sources ?? []) {
    const skill = 'url' in source ? await remoteSkill(source.url, search.userData) : undefined
    if (isFound(skill, warnings)) add(skill)
  }
  return { skills: [...skills.values()], warnings }
}

/** Directories in order of precedence, the nearest of the project first. Those of the user and the host are chosen ones. */
function directoriesOf({ roots, project = true, home = homedir(), sources = [] }: SkillSearch): { directory: string; isChosen: boolean }[] {
  const userHome = home === false || home === '' ? undefined : resolve(home)
  const around = project ? roots.flatMap((root) => upward(root, userHome)) : []
  const bundled = sources.flatMap((source) => ('bundled' in source ? [source.bundled] : []))
  const configured = sources.flatMap((source) => ('path' in source ? [source.path] : []))
  const foldersIn = (directory: string): string[] => folders.map((folder) => join(directory, folder))
  const all = new Map<string, boolean>()
  for (const path of around.flatMap(foldersIn)) all.set(resolve(path), false)
  for (const path of [...(userHome === undefined ? [] : foldersIn(userHome)), ...bundled, ...configured]) {
    if (!all.has(resolve(path))) all.set(resolve(path), true)
  }
  return [...all].map(([directory, isChosen]) => ({ directory, isChosen }))
}

/** A directory and all those around it, except for the user's home, which is not part of a project. */
export function upward(root: string, home: string | undefined): string[] {
  const all: string[] = []
  for (let at = resolve(root); ; at = dirname(at)) {
    if (at !== home) all.push(at)
    if (dirname(at) === at) return all
  }
}

async function skillsIn(path: string, isChosen: boolean, trusted: TrustedOwners, warnings: string[]): Promise<FoundSkill[]> {
  const owners = isChosen ? undefined : trusted
  let directory = path
  let names: string[]
  try {
    if (!(await isTrusted(directory, owners))) {
      warnings.push(`The skills in ${directory} are left out: the directory belongs to another user.`)
      return []
    }
    directory = await realpath(path)
    // The user made the links to a chosen directory. In a project anyone may have made them.
    if (!isChosen && directory !== path) {
      warnings.push(`The skills in ${path} are left out: a link leads to them.`)
      return []
    }
    names = (await boundedNames(directory)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') warnings.push(`The skills in ${directory} are left out: it cannot be read (${code}).`)
    return []
  }
  if (names.length > MAX_SKILLS) warnings.push(`Of the ${names.length} skills in ${directory}, the first ${MAX_SKILLS} are taken.`)
  const candidates = await Promise.all(names.slice(0, MAX_SKILLS).map((name) => skillAt(join(directory, name, 'SKILL.md'), owners)))
  return candidates.filter((skill) => isFound(skill, warnings))
}

/** Adds the warning about a skill that is left out. */
function isFound(skill: FoundSkill | string | undefined, warnings: string[]): skill is FoundSkill {
  if (typeof skill === 'string') warnings.push(skill)
  return typeof skill === 'object'
}

/** Whether the owners of a directory, and of links to it, are trusted. `/tmp/.agents/skills`, for example, must not instruct the agent. */
async function isTrusted(directory: string, owners: TrustedOwners): Promise<boolean> {
  if (owners === undefined) return true
  const looks = [dirname(directory), directory].flatMap((path) => [stat(path), lstat(path)])
  return (await Promise.all(looks)).every(({ uid }) => owners.has(uid))
}

/** The skill in a file, or a warning; `undefined` for other files and folders. */
async function skillAt(path: string, owners: TrustedOwners): Promise<FoundSkill | string | undefined> {
  try {
    const { name, description } = await parseSkill(await readPlainFile(path, owners))
    return { name, description, from: path, load: async () => (await parseSkill(await readPlainFile(path, owners))).body }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    return `The skill ${path} is left out: ${code === 'ELOOP' ? 'it is a link' : (error as Error).message}.`
  }
}

async function remoteSkill(url: string, userData: string | undefined): Promise<FoundSkill | string> {
  try {
    const { name, description, body } = await parseSkill(await readRemoteSkill(url, userData))
    return { name, description, from: url, load: async () => body }
  } catch (error) {
    return `The skill ${url} is left out: ${(error as Error).message}.`
  }
}
