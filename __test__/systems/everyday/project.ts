/** A small real project, and what a person does in it. */
export interface Project {
  name: string
  /** Programs that have to be on PATH. Without one of them the project is skipped, by name. */
  needs?: string[]
  /** Its programs refuse to run as root. */
  notAsRoot?: true
  /** Why it does not end in a fork as it does in the directory: a limit that docs/guides/forks.md names. */
  notInForks?: string
  /** Its files, by path. */
  files?: Record<string, string>
  /** What makes it ready, outside, with the network. */
  prepare?: string
  /** The work. It ends with 0 outside. */
  script: string
  /** Files that differ between two runs outside. */
  differs?: RegExp
  /** What a person asks afterwards, outside. The answers are compared, too. */
  after?: string
}

/** The files of a package of npm, of its own test. */
export const npmPackage = (fields: object = {}): string => JSON.stringify({ name: 'everyday', version: '1.0.0', private: true, ...fields })

/** Installs packages of npm with their install scripts, outside. */
export const npmInstall = (...packages: string[]): string => `npm install --no-audit --no-fund --loglevel error ${packages.join(' ')}`
