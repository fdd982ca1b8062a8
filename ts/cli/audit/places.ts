/** A rule that names files which programs of a person run or obey, by their path below the root. */
interface Place {
  pattern: RegExp
  /** What obeys the file. */
  by: string
}

/** What is looked for, the first rule that fits first. Paths have slashes and begin at the root. */
const PLACES: readonly Place[] = [
  { pattern: /(^|\/)\.git\/hooks\/[^/.]+$/u, by: 'git runs it' },
  { pattern: /(^|\/)\.git\/(modules\/.+\/)?hooks\/[^/.]+$/u, by: 'git runs it' },
  { pattern: /(^|\/)\.git\/(modules\/.+\/)?config(\.worktree)?$/u, by: 'git obeys it' },
  { pattern: /(^|\/)\.git\/(rebase-merge|rebase-apply)\/git-rebase-todo$/u, by: 'git runs what it names, when the rebase goes on' },
  { pattern: /(^|\/)(\.gitattributes|\.gitmodules|\.lfsconfig)$/u, by: 'git obeys it' },
  { pattern: /(^|\/)\.husky\//u, by: 'git runs it' },
  { pattern: /(^|\/)(\.pre-commit-config\.yaml|lefthook\.ya?ml)$/u, by: 'hooks of git run what it names' },
  { pattern: /(^|\/)\.(vscode|idea|zed)\//u, by: 'editors obey it' },
  { pattern: /(^|\/)\.(claude|codex|cursor|gemini|agents)\//u, by: 'agents obey it' },
  { pattern: /(^|\/)(\.mcp\.json|AGENTS\.md|CLAUDE\.md|GEMINI\.md|\.cursorrules)$/u, by: 'agents obey it' },
  { pattern: /^\.github\/(workflows|actions)\/|^\.circleci\/|^\.buildkite\//u, by: 'continuous integration runs it' },
  {
    pattern: /^(\.gitlab-ci\.yml|\.travis\.yml|\.drone\.yml|Jenkinsfile|azure-pipelines\.yml|bitbucket-pipelines\.yml)$/u,
    by: 'continuous integration runs it',
  },
  { pattern: /(^|\/)node_modules\/\.bin\/[^/]+$/u, by: 'package scripts run it' },
  { pattern: /(^|\/)(package\.json|deno\.jsonc?|bunfig\.toml)$/u, by: 'its scripts are run by name' },
  { pattern: /(^|\/)(\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|pip\.conf)$/u, by: 'package managers obey it' },
  {
    pattern: /(^|\/)(GNUmakefile|[Mm]akefile|justfile|Justfile|Taskfile\.ya?ml|Rakefile|SConstruct|CMakeLists\.txt)$/u,
    by: 'builds run it',
  },
  { pattern: /(^|\/)(build\.rs|\.cargo\/config(\.toml)?|build\.gradle(\.kts)?|gradlew|mvnw|pom\.xml)$/u, by: 'builds run it' },
  { pattern: /(^|\/)(setup\.py|pyproject\.toml|conftest\.py|noxfile\.py|tox\.ini|sitecustomize\.py)$/u, by: 'Python tools run it' },
  { pattern: /(^|\/)[^/]+\.(config|setup)\.(c|m)?[jt]s$/u, by: 'the tool that it configures runs it' },
  { pattern: /(^|\/)(Dockerfile|Containerfile|(docker-)?compose\.ya?ml)$/u, by: 'containers are made from it' },
  { pattern: /(^|\/)(\.envrc|\.env(\.[^/]+)?|\.tool-versions|mise\.toml|\.nvmrc)$/u, by: 'shells and tools obey it' },
  { pattern: /\.disabled(-\d+)?$/u, by: 'set aside by the sandbox; nothing runs it' },
]

/** What runs or obeys a file. `undefined`: nothing that is known. */
export const obeyedBy = (path: string): string | undefined => PLACES.find(({ pattern }) => pattern.test(path))?.by
