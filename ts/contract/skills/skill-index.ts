import { ContractFailure } from '../registry/envelope.js'
import { discoverSkills, type FoundSkill, type SkillSearch } from './discover-skills.js'

/** A skill as it is shown to a model. */
export interface SkillEntry {
  readonly name: string
  readonly description: string
}

/** The skills of a session. They are found when it begins, and their bodies are loaded on demand. */
export class SkillIndex {
  readonly warnings: readonly string[]
  readonly #skills: ReadonlyMap<string, FoundSkill>
  readonly #loaded = new Map<string, Promise<string>>()

  private constructor(skills: readonly FoundSkill[], warnings: readonly string[]) {
    this.#skills = new Map(skills.map((skill) => [skill.name, skill]))
    this.warnings = warnings
  }

  static async find(search: SkillSearch): Promise<SkillIndex> {
    const { skills, warnings } = await discoverSkills(search)
    return new SkillIndex(skills, warnings)
  }

  /** Names and descriptions, in the order of precedence. */
  get entries(): SkillEntry[] {
    return [...this.#skills.values()].map(({ name, description }) => ({ name, description }))
  }

  /** The text about the skills for a system prompt: names and descriptions. Empty without skills. */
  prompt(): string {
    if (this.#skills.size === 0) return ''
    const lines = this.entries.map(({ name, description }) => `- ${name}: ${description.replace(/</gu, '&lt;')}`)
    return `Skills hold instructions for particular tasks. When one fits, load it with the tool skill before you begin.\n<skills>\n${lines.join('\n')}\n</skills>`
  }

  /**
   * The body of a skill between its markers. It is loaded once.
   *
   * @throws {ContractFailure} invalid_arguments for an unknown name, with those there are; unavailable.
   */
  load(name: string): Promise<string> {
    const cached = this.#loaded.get(name)
    if (cached !== undefined) return cached
    const loading = this.#load(name)
    this.#loaded.set(name, loading)
    loading.catch(() => this.#loaded.delete(name))
    return loading
  }

  async #load(name: string): Promise<string> {
    const skill = this.#skills.get(name)
    if (skill === undefined) {
      const names = [...this.#skills.keys()].join(', ')
      const available = names === '' ? 'There are none in this session.' : `The skills are: ${names}.`
      throw new ContractFailure('invalid_arguments', `There is no skill ${name.slice(0, 100)}. ${available}`)
    }
    let body: string
    try {
      body = await skill.load()
    } catch (error) {
      const text = `The skill ${name} cannot be loaded any more: ${(error as Error).message}. Go on without it.`
      throw new ContractFailure('unavailable', text, { cause: error })
    }
    return wrapSkill(name, body)
  }
}

/** Puts a body between markers, and escapes markers within it. */
export function wrapSkill(name: string, body: string): string {
  return `<skill_content name="${name}">\n${body.replace(/<(?=\s*\/?\s*skill_content)/giu, '&lt;')}\n</skill_content>`
}
