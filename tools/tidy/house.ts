import { basename } from 'node:path'

/**
 * The house: each folder is a layer, and beside it stand the layers that it may import.
 * `lib` and `domain` are open to every layer but `lib`, which stands alone.
 * The list is strict: that a neighbour may import a layer gives no right to it.
 * Tests (`*.test.ts`) may import any layer.
 */
export const house: Readonly<Record<string, readonly string[] | 'everything'>> = {
  lib: [],
  domain: [],
  ecosystem: [],
  store: [],
  chain: [],
  http: [],
  route: ['http'],
  jobs: ['store'],
  ledger: ['store'],
  indexer: ['chain', 'jobs', 'store', 'ecosystem'],
  payments: ['ledger', 'chain', 'jobs', 'store', 'ecosystem', 'http', 'route'],
  access: ['ledger', 'jobs', 'store', 'http', 'route'],
  x402: ['payments', 'ledger', 'chain', 'jobs', 'store', 'ecosystem', 'http', 'route'],
  statements: ['access', 'payments', 'ledger', 'store', 'http', 'route'],
  datasets: ['indexer', 'chain', 'jobs', 'store', 'ecosystem', 'http', 'route'],
  stream: ['datasets', 'indexer', 'store', 'ecosystem', 'http', 'route'],
  webhooks: [
    'stream',
    'access',
    'datasets',
    'indexer',
    'ledger',
    'jobs',
    'store',
    'ecosystem',
    'http',
    'route',
  ],
  statistics: ['datasets', 'indexer', 'store', 'ecosystem', 'http', 'route'],
  api: ['statistics', 'datasets', 'access', 'payments', 'http', 'route'],
  site: ['api', 'http', 'route'],
  main: [
    'site',
    'api',
    'statistics',
    'stream',
    'webhooks',
    'statements',
    'datasets',
    'access',
    'x402',
    'payments',
    'indexer',
    'ledger',
    'chain',
    'jobs',
    'store',
    'ecosystem',
    'http',
    'route',
    'devnet',
  ],
  audit: 'everything',
  upkeep: 'everything',
  setup: ['main', 'datasets', 'indexer', 'chain', 'store', 'ecosystem'],
  cli: 'everything',

  client: [],
  console: ['site'],
  contracts: [],
  devnet: ['ecosystem', 'contracts'],
  examples: [],
  test: 'everything',
  tools: 'everything',
}

/** Layers that import nothing at all. */
const alone: readonly string[] = ['lib']
const openToAll: readonly string[] = ['lib', 'domain']
/** Layers outside `src/`, each a folder at the top. */
const topFolders: readonly string[] = [
  'client',
  'console',
  'contracts',
  'devnet',
  'examples',
  'test',
  'tools',
]

/** A kind of event is one folder of `src/chains/kinds/`: each of its files belongs to a layer. */
const kindFileLayers: Readonly<Record<string, string>> = {
  'kind.ts': 'ecosystem',
  'kinds.ts': 'ecosystem',
  'known-events.ts': 'ecosystem',
  'repeated-burns.ts': 'ecosystem',
  'card.ts': 'site',
  'cards.ts': 'site',
}

/** What a layer may import besides itself, in words for the mend. */
export function allowedImports(layer: string): readonly string[] | 'everything' {
  const listed = house[layer] ?? []
  if (listed === 'everything' || alone.includes(layer)) return listed
  const open = openToAll.filter((each) => each !== layer)
  return layer === 'domain' ? ['lib'] : [...open, ...listed]
}

/** Whether a file of layer `from`, which is no test, may import a file of layer `to`. */
export function mayImport(from: string, to: string): boolean {
  const allowed = allowedImports(from)
  return from === to || allowed === 'everything' || allowed.includes(to)
}

/**
 * Layer of a path from the project's root, with `/` between its parts: the folder below `src/`,
 * or a top folder. Undefined for files of no layer, such as `package.json`.
 */
export function layerOf(path: string): string | undefined {
  const [top = '', second = ''] = path.split('/')
  if (top === 'src' && second === 'kinds') return kindFileLayers[basename(path)] ?? 'datasets'
  if (top === 'src') return path.split('/').length > 2 ? second : 'src'
  return topFolders.includes(top) ? top : undefined
}

/** Path from the root that an import of the project's own files means, or undefined for packages. */
export function resolveImport(fromPath: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) {
    const path = specifier.slice(1)
    const isTop = topFolders.includes(path.split('/')[0] ?? '')
    return isTop ? path : `src/${path}`
  }
  if (!specifier.startsWith('.')) return undefined
  return new URL(specifier, `file:///${fromPath}`).pathname.slice(1)
}
