import type { Project } from './projects.mjs'

export function fetchProjects(directory: string, projects: readonly Project[]): { name: string; repository: string }[]
