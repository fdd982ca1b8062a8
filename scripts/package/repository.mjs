/**
 * Who owns the repository on GitHub. THE ONE PLACE: everything else follows from it, by
 * `node scripts/check-metadata.mjs --write`.
 */
export const owner = 'OWNER'

/** A placeholder until the first release. npm refuses a provenance that does not match `repository`. */
export const isPlaceholder = owner === 'OWNER'

export const repositoryAddress = `https://github.com/${owner}/toolwright`

/** What package.json has of it, and each platform package after that. */
export const repositoryFields = {
  homepage: `${repositoryAddress}#readme`,
  repository: { type: 'git', url: `git+${repositoryAddress}.git` },
  bugs: { url: `${repositoryAddress}/issues` },
}
