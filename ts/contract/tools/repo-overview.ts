import type { ContractTool } from '../registry/contract-tool.js'
import { aCount, aText, dataSchemaOf, listOfTexts } from '../registry/output-schema.js'
import type { ProjectManifest, ToolRuntime, TreeOverview } from '../registry/tool-runtime.js'
import { executeDirectly } from './built-in-tools.js'
import { parameters } from './parameters.js'

/** Arguments of `repo_overview`. */
export interface RepoOverviewArguments {
  path?: string
  depth?: number
}

/** The result of `repo_overview`. */
export type RepoOverviewData = TreeOverview

const script = dataSchemaOf<{ name: string; command?: string }>({ name: aText, command: aText }, ['name'])

const manifest = dataSchemaOf<ProjectManifest>(
  {
    path: aText,
    kind: aText,
    name: aText,
    version: aText,
    scripts: { type: 'array', items: script },
    entry_points: listOfTexts,
    members: listOfTexts,
    problem: aText,
  },
  ['path', 'kind'],
)

type LanguageCount = TreeOverview['languages'][number]

const tool: ContractTool<RepoOverviewArguments, RepoOverviewData> = {
  id: 'repo_overview',
  description:
    'Show what is in a repository or directory, in one call: how many files in which languages, the projects with their scripts and entry points ' +
    '(package.json, Cargo.toml, pyproject.toml, go.mod, Makefile and others), the beginning of the README, and the tree of directories. ' +
    'Ignored and hidden files are left out.',
  parameters: parameters(
    {
      path: { type: 'string', minLength: 1, maxLength: 4096, description: 'The directory to look at. Default: the whole workspace' },
      depth: { type: 'integer', minimum: 1, maximum: 4, description: 'How many levels of directories the tree shows. Default 3' },
    },
    [],
  ),
  outputSchema: dataSchemaOf<RepoOverviewData>(
    {
      files: aCount,
      bytes: aCount,
      languages: {
        type: 'array',
        items: dataSchemaOf<LanguageCount>({ language: aText, files: aCount, bytes: aCount }, ['language', 'files', 'bytes']),
      },
      dependency_files: aCount,
      manifests: { type: 'array', items: manifest },
      more_manifests: aCount,
      entry_points: listOfTexts,
      readme: dataSchemaOf<{ path: string; head: string }>({ path: aText, head: aText }, ['path', 'head']),
      tree: aText,
      not_searched: listOfTexts,
    },
    ['files', 'bytes', 'languages', 'manifests', 'entry_points', 'tree'],
  ),
  requires: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } },
  kind: 'read',
  targets: ({ path }) => [{ kind: 'file', path: path ?? '.', access: 'search', everywhere: path === undefined }],
  execute: ({ path, depth }, { fs }) => fs.overview({ path, depth }),
}

/**
 * The extension `repo_overview`: what is in a directory, as far as it may be read: languages, manifests, entry points, README and
 * tree. A session has it if its host passes it on:
 * `createSession({ workspace, manifest, tools: [repoOverviewTool] })`.
 */
export const repoOverviewTool: ContractTool<RepoOverviewArguments, RepoOverviewData> = Object.freeze({
  ...tool,
  execute: (args: RepoOverviewArguments, runtime: ToolRuntime) => executeDirectly(tool, args, runtime) as Promise<RepoOverviewData>,
})
