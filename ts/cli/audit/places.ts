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
  {
    pattern: /(^|\/)(\.?pre-commit-config\.ya?ml|\.?lefthook(-local)?\.(ya?ml|toml|json)|\.lintstagedrc(\.[a-z]+)?|\.overcommit\.yml)$/u,
    by: 'hooks of git run what it names',
  },
  {
    pattern: /(^|\/)\.(vscode|idea|zed|fleet|helix|idx|lapce|nova|nvim|run|theia|vim|vs|settings|externalToolBuilders)\//u,
    by: 'editors obey it',
  },
  {
    pattern:
      /(^|\/)([^/]+\.code-workspace|[^/]+\.sublime-(project|workspace)|\.dir-locals(-2)?\.el|[._]exrc|\.nvim\.lua|\.nvimrc|\.l?vimrc|_vimrc|\.vimspector\.json|\.?rust-analyzer\.toml|\.project|\.classpath|\.luarc\.jsonc?|\.clangd|hie\.yaml|\.watchmanconfig)$/u,
    by: 'editors obey it',
  },
  {
    pattern: /(^|\/)(\.devcontainer\/|\.codesandbox\/|\.devcontainer\.json$|\.gitpod\.yml$|\.replit$|devfile\.yaml$|\.devfile\.yaml$)/u,
    by: 'containers are made from it when the project is opened',
  },
  {
    pattern:
      /(^|\/)\.(claude|codex|cursor|gemini|agents|amazonq|amp|augment|cline|codebuddy|codeium|continue|copilot|crush|factory|goose|iflow|junie|kilocode|kiro|openhands|opencode|pi|qwen|roo|sourcegraph|tabnine|trae|windsurf|zencoder)\//u,
    by: 'agents obey it',
  },
  {
    pattern:
      /(^|\/)(\.mcp\.json|AGENTS\.md|CLAUDE\.md|GEMINI\.md|\.cursorrules|\.windsurfrules|\.clinerules|\.goosehints|opencode\.jsonc?|\.?crush\.json|\.aider(\.[a-z.]+)?\.ya?ml|\.continuerc\.json|\.roomodes|\.kilocodemodes)$/u,
    by: 'agents obey it',
  },
  { pattern: /(^|\/)\.github\/(copilot-instructions\.md$|copilot\/|instructions\/|prompts\/|agents\/)/u, by: 'agents obey it' },
  { pattern: /^\.github\/(workflows|actions)\/|^\.circleci\/|^\.buildkite\//u, by: 'continuous integration runs it' },
  {
    pattern: /^(\.gitlab-ci\.yml|\.travis\.yml|\.drone\.yml|Jenkinsfile|azure-pipelines\.yml|bitbucket-pipelines\.yml)$/u,
    by: 'continuous integration runs it',
  },
  { pattern: /(^|\/)node_modules\/\.bin\/[^/]+$/u, by: 'package scripts run it' },
  { pattern: /(^|\/)(package\.json|deno\.jsonc?|bunfig\.toml)$/u, by: 'its scripts are run by name' },
  {
    pattern:
      /(^|\/)(\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|\.pnp\.c?js|\.pnp\.loader\.mjs|pnpm-workspace\.yaml|pip\.conf|uv\.toml|\.condarc|\.bundle\/config|\.gemrc|NuGet\.Config|nuget\.config)$/u,
    by: 'package managers obey it',
  },
  { pattern: /(^|\/)\.yarn\/(releases|plugins|sdks)\//u, by: 'package managers run it' },
  {
    pattern: /(^|\/)(GNUmakefile|[Mm]akefile|justfile|Justfile|Taskfile\.ya?ml|Rakefile|SConstruct|CMakeLists\.txt)$/u,
    by: 'builds run it',
  },
  {
    pattern:
      /(^|\/)(build\.rs|\.cargo\/config(\.toml)?|(build|settings|init)\.gradle(\.kts)?|gradle\.properties|gradlew(\.bat)?|mvnw(\.cmd)?|pom\.xml|build\.xml|build\.sbt|\.sbtopts|\.jvmopts|build\.zig|meson\.build|configure|Earthfile|Tiltfile|Vagrantfile|Procfile|Guardfile|Capfile|Fastfile|Dangerfile|Podfile|Gemfile|Brewfile|magefile\.go|dune-project|Package\.swift|mix\.exs|rebar\.config|cabal\.project|Setup\.hs|Directory\.Build\.(props|targets))$/u,
    by: 'builds run it',
  },
  { pattern: /(^|\/)(\.mvn|gradle\/wrapper|project)\/[^/]+\.(xml|config|jar|properties|sbt)$|(^|\/)\.mvn\//u, by: 'builds run it' },
  {
    pattern:
      /(^|\/)(\.bazelrc|\.bazeliskrc|\.bazelversion|MODULE\.bazel|WORKSPACE(\.bazel)?|BUILD(\.bazel)?|\.buckconfig|BUCK|pants\.toml)$|(^|\/)tools\/bazel$/u,
    by: 'builds run it',
  },
  {
    pattern: /(^|\/)(flake\.nix|shell\.nix|default\.nix|devenv\.nix|devbox\.json|guix\.scm|manifest\.scm|pixi\.toml)$|(^|\/)\.flox\//u,
    by: 'shells and builds are made from it',
  },
  { pattern: /(^|\/)rust-toolchain(\.toml)?$/u, by: 'Rust tools are chosen and fetched by it' },
  {
    pattern:
      /(^|\/)(setup\.py|setup\.cfg|pyproject\.toml|conftest\.py|pytest\.ini|noxfile\.py|tox\.ini|(site|user)customize\.py|\.?pylintrc|\.flake8|mypy\.ini|\.mypy\.ini|dodo\.py|fabfile\.py|tasks\.py|pyvenv\.cfg|[^/]+\.pth)$/u,
    by: 'Python tools run it',
  },
  { pattern: /(^|\/)\.?v?env\/(bin|Scripts)\/[^/]+$/u, by: 'it is run once the environment is active' },
  {
    pattern: /(^|\/)(\.irbrc|\.pryrc|\.Rprofile|\.ghci|\.ocamlinit|\.iex\.exs|\.gdbinit|\.lldbinit|\.psqlrc|\.sqliterc|\.inputrc)$/u,
    by: 'interpreters and debuggers run it when they start here',
  },
  {
    pattern:
      /(^|\/)(\.rubocop\.yml|\.solargraph\.yml|\.golangci\.ya?ml|phpstan\.neon|\.php-cs-fixer(\.dist)?\.php|\.phpactor\.(json|yml)|\.credo\.exs|\.formatter\.exs|\.tflint\.hcl)$/u,
    by: 'the tool that it configures loads what it names',
  },
  {
    pattern: /(^|\/)[^/]+\.(config|setup)\.(c|m)?[jt]s$|(^|\/)\.[a-z]+rc\.(c|m)?[jt]s$|(^|\/)(Gruntfile|Gulpfile|gulpfile)\.(c|m)?[jt]s$/u,
    by: 'the tool that it configures runs it',
  },
  { pattern: /(^|\/)(Dockerfile|Containerfile|(docker-)?compose\.ya?ml)$/u, by: 'containers are made from it' },
  {
    pattern:
      /(^|\/)(\.envrc|\.env(\.[^/]+)?|\.autoenv(\.zsh)?|\.tool-versions|\.?mise(\.[a-z]+)?\.toml|\.nvmrc|\.(node|python|ruby|java|go|terraform)-version|\.sdkmanrc|\.terraformrc|\.tmuxinator\.ya?ml)$|(^|\/)\.(mise|direnv|asdf)\//u,
    by: 'shells and tools obey it',
  },
  { pattern: /\.disabled(-\d+)?$/u, by: 'set aside by the sandbox; nothing runs it' },
]

/** What runs or obeys a file. `undefined`: nothing that is known. */
export const obeyedBy = (path: string): string | undefined => PLACES.find(({ pattern }) => pattern.test(path))?.by
