// The pages are staged by `npm run site`, which also writes `pages.json`: the groups of the sidebar.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const { groups, repository, version } = JSON.parse(readFileSync(new URL('pages.json', import.meta.url), 'utf8'))

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
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
