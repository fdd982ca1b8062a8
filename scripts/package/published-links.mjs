// Pages of the package link to records and pictures that the repository keeps for itself. In a published page such a
// link is an address of the repository at the tag of this version.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from '../setup/paths.mjs'
import { repositoryAddress } from './repository.mjs'

/** Captured, so that a split at code blocks keeps them. */
const CODE_BLOCK = /(^```[\s\S]*?^```)/m
const RELATIVE_LINK = /\]\((?![a-z]+:|#)([^)#\s]+)/g

const isProse = (part) => !part.startsWith('```')
const isPage = (file) => /\.md$|^llms\.txt$/.test(file)
const leadsTo = (target, published) => published.some((file) => file === target || file.startsWith(target.replace(/\/?$/, '/')))

/** The links of a page outside of its code blocks, as `{ target, path }`: as it is written, and from the root. */
function linksOf(page, text) {
  const prose = text.split(CODE_BLOCK).filter(isProse).join('')
  return [...prose.matchAll(RELATIVE_LINK)].map(([, target]) => ({ target, path: posix.join(posix.dirname(page), target) }))
}

function addressOf(path, version) {
  const kind = statSync(join(root, path)).isDirectory() ? 'tree' : /\.(?:png|svg)$/.test(path) ? 'raw' : 'blob'
  return `${repositoryAddress}/${kind}/v${version}/${path.replace(/\/$/, '')}`
}

/** Writes the pages of `folder`, an unpacked package of these files, with addresses for what is not in it. */
export function writePublishedLinks(folder, published, version) {
  for (const page of published.filter(isPage)) {
    const text = readFileSync(join(folder, page), 'utf8')
    const unpublished = linksOf(page, text).filter(({ path }) => !leadsTo(path, published) && existsSync(join(root, path)))
    if (unpublished.length === 0) continue
    const addresses = new Map(unpublished.map(({ target, path }) => [target, addressOf(path, version)]))
    const write = (prose) => prose.replaceAll(RELATIVE_LINK, (link, target) => link.replace(target, addresses.get(target) ?? target))
    const parts = text.split(CODE_BLOCK).map((part) => (isProse(part) ? write(part) : part))
    writeFileSync(join(folder, page), parts.join(''))
  }
}

/** Links of the pages in `folder` that lead to nothing the package holds. */
export const deadLinks = (folder, published) =>
  published.filter(isPage).flatMap((page) =>
    linksOf(page, readFileSync(join(folder, page), 'utf8'))
      .filter(({ path }) => !leadsTo(path, published))
      .map(({ path }) => `${page} names ${path}`),
  )
