export interface Project {
  readonly name: string
  readonly url: string
  readonly why: string
}

export const projects: readonly Project[]
