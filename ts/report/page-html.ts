import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The contents of a page. */
export interface PageContent {
  title: string
  /** The packed data of a report; empty for a page that asks its server for calls. */
  base64: string
}

/**
 * One self-contained page. Its policy lets only its own script and style run. The page can connect only to its own server,
 * and a page in a file cannot connect at all.
 */
export function pageHtml({ title, base64 }: PageContent): string {
  const { script, style } = assets()
  const parts = ['<!doctype html>', '<html lang="en">', '<head>', '<meta charset="utf-8">']
  parts.push('<meta name="viewport" content="width=device-width, initial-scale=1">')
  parts.push(`<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy(base64 === '')}">`)
  parts.push('<meta name="referrer" content="no-referrer">', `<title>${escaped(title)}</title>`)
  parts.push(`<style>${style}</style>`, '</head>', '<body>', '<div id="app"><p>Reading the report…</p></div>')
  parts.push('<noscript><p>This page needs JavaScript, which it contains itself.</p></noscript>')
  parts.push(`<script type="application/octet-stream" id="data">${base64}</script>`)
  parts.push(`<script>${script}</script>`, '</body>', '</html>', '')
  return parts.join('\n')
}

/** The content security policy of the page, also for the header of its server. */
export function contentSecurityPolicy(isLive: boolean): string {
  const { script, style } = assets()
  const rules = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ]
  if (isLive) rules.push("connect-src 'self'")
  return rules.join('; ')
}

let loaded: { script: string; style: string } | undefined

/** The script and style that the build makes of `page/`. */
function assets(): { script: string; style: string } {
  const read = (name: string): string => readFileSync(new URL(`../../dist/report/page/${name}`, import.meta.url), 'utf8')
  // No text in the script or the style may end it early.
  loaded ??= {
    script: read('page.js')
      .replaceAll('</script', String.raw`<\/script`)
      .replaceAll('<!--', String.raw`<\!--`),
    style: read('page.css').replaceAll('</style', String.raw`<\/style`),
  }
  return loaded
}

const hash = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
