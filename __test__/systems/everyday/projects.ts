import { GIT } from './git.ts'
import { JAVASCRIPT } from './javascript.ts'
import { LANGUAGES } from './languages.ts'
import { NATIVE } from './native.ts'
import type { Project } from './project.ts'
import { SERVICES } from './services.ts'
import { TREES } from './trees.ts'

/** What people do in a day. */
export const PROJECTS: readonly Project[] = [...NATIVE, ...GIT, ...JAVASCRIPT, ...LANGUAGES, ...SERVICES, ...TREES]
