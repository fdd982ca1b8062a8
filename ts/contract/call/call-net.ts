import type { CallScope } from './access-controller.js'
import { ContractFailure } from '../registry/envelope.js'
import type { RuntimeNet } from '../registry/tool-runtime.js'
import { headOf, isWithin } from '../registry/limited-output.js'
import { DEFAULT_RESULTS, MAX_RESULTS, providerHost, searchWith } from '../web/search-provider.js'
import { loadLate } from '../../core/late-code.js'

const loadWeb = loadLate(() => Promise.all([import('../web/fetch-page.js'), import('../web/resolve-host.js')]))

export function callNet({ scope, access, id, tool, signal }: CallScope): RuntimeNet {
  const { host, web, directory } = scope
  const { limits } = host
  return {
    async fetchPage(url, options = {}) {
      // With them come the runtime's own modules for the web, which most sessions never need.
      const [{ fetchPage }, { resolveHost }] = await loadWeb()
      const page = await fetchPage(url, options, {
        signal,
        reach: (name, port) => access.reach(name, port),
        resolve: (at, either) => resolveHost(at, web.effective, host.lookup, either),
        count: web.countFetch,
        request: host.fetch,
        limitMs: limits.webFetchMs,
        rawBytes: limits.webFetchRawBytes,
      })
      const { text } = page
      if (isWithin(text, limits.webFetchBytes)) return page
      const path = await directory.write(tool, id, text, limits.sidecarBytes)
      return { ...page, text: headOf(text, limits.webFetchBytes), output_path: path }
    },
    async search(query, { max_results = DEFAULT_RESULTS } = {}) {
      const { provider } = web
      if (provider === undefined) {
        throw new ContractFailure(
          'unavailable',
          'web_search is unavailable: this host has no search provider. Go on without, or fetch a page that you know.',
        )
      }
      const { host: name, port } = providerHost(provider.host)
      await access.reach(name, port)
      signal.throwIfAborted()
      web.countSearch()
      const max = Math.max(1, Math.min(max_results, MAX_RESULTS))
      return searchWith(provider, query, { max_results: max, limitMs: limits.webSearchMs, signal })
    },
  }
}
