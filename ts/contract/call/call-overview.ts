import type { ContractManifest, ContractOverview } from '../../../index.js'
import type { ProjectManifest, TreeOverview } from '../registry/tool-runtime.js'

/** An overview of the addon as tools give it: what is not there has no field. */
export function toOverview(overview: ContractOverview): TreeOverview {
  const { files, bytes, languages, dependencyFiles, moreManifests, readmePath: path, readmeHead: head } = overview
  return {
    files,
    bytes,
    languages,
    ...(dependencyFiles === undefined ? {} : { dependency_files: dependencyFiles }),
    manifests: overview.manifests.map(toManifest),
    ...(moreManifests === 0 ? {} : { more_manifests: moreManifests }),
    entry_points: overview.entryPoints,
    ...(path === undefined || head === undefined ? {} : { readme: { path, head } }),
    tree: overview.tree,
    ...(overview.notListed.length === 0 ? {} : { not_searched: overview.notListed }),
  }
}

function toManifest({ path, kind, name, version, problem, ...lists }: ContractManifest): ProjectManifest {
  const scripts = lists.scripts.map((script) => ({ name: script.name, ...(script.command === '' ? {} : { command: script.command }) }))
  return {
    path,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(version === undefined ? {} : { version }),
    ...(scripts.length === 0 ? {} : { scripts }),
    ...(lists.entryPoints.length === 0 ? {} : { entry_points: lists.entryPoints }),
    ...(lists.members.length === 0 ? {} : { members: lists.members }),
    ...(problem === undefined ? {} : { problem }),
  }
}
