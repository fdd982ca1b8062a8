// The pages are staged by `npm run site`, which also writes `pages.json`: the groups of the sidebar.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const { groups, repository, version } = JSON.parse(readFileSync(new URL('pages.json', import.meta.url), 'utf8'))

/** Lists, records of decisions and licenses have every word, and are nobody's answer. */
const LEFT_OUT = /^(?:decisions\/|reference\/rust\/|THIRD-PARTY-NOTICES|CHANGELOG)/

/** What somebody looks for is called otherwise on some pages. */
const search = {
  _render: (source, env, markdown) => (LEFT_OUT.test(env.relativePath) ? '' : markdown.render(source, env)),
  miniSearch: {
    options: {
      // Words that are on every page are no part of what somebody looks for, and `approve` finds `approvals`. VitePress hands functions to
      // the page as texts, so that they have nothing but their arguments.
      processTerm: (word) => {
        const term = word.toLowerCase()
        const common =
          ' a an and are as at be by can do does for from get has have how i if in into is it its make my of on or that the this to use using via want what when where which why with you your '
        if (common.includes(` ${term} `)) return null
        const stem = term.replace(/(?:ations?|ating|ated|als?|ings?|ed|es|s|e)$/, '')
        return stem.length > 3 ? stem : term
      },
    },
    searchOptions: {
      // A letter or a short word is a part of many others.
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      combineWith: 'OR',
      boost: { title: 2, text: 2, titles: 1 },
      // Guides and pages before lists and what is made from declarations, and the beginning of a page before its parts.
      boostDocument: (id, _, { titles }) => {
        const kind = /\/guides\/|\/getting-started/.test(id)
          ? 1.5
          : /\/reference\//.test(id)
            ? 0.2
            : /\/(?:lists|options|option-examples|requirements|supply-chain|exports|benchmarks|platforms|examples|contents|migration-from-smithers)\.html/.test(
                  id,
                )
              ? 0.4
              : /\/errors\.html/.test(id)
                ? 0.7
                : 1
        return kind * (titles?.length === 0 ? 1.3 : 1)
      },
    },
  },
}

export default defineConfig({
  title: 'toolwright',
  description: 'File, search, edit and shell tools for AI agents in Node and Bun, confined by the kernel',
  // No file for an icon.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  cleanUrls: false,
  lastUpdated: false,
  // Only what the example of a page shows; a page of the site leads somewhere, or the build ends.
  ignoreDeadLinks: [/^https?:\/\/(?:localhost|127\.0\.0\.1)/, /\/rust\//],
  markdown: {
    // Pages are read on GitHub as well: no HTML of their own, and the same anchors.
    config: (markdown) => markdown.set({ html: false }),
    anchor: {
      slugify: (title) =>
        title
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
          .replaceAll(' ', '-'),
    },
  },
  // The largest page is the reference of options.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Errors', link: '/errors' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Security', link: '/security' },
      { text: version, link: '/CHANGELOG' },
    ],
    sidebar: groups,
    outline: [2, 3],
    search: { provider: 'local', options: search },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
